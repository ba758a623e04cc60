// The engine and the references, which the script of a page offers to a worker that has something of its own to run, such as a test.

export { unpacked } from "../data";
export { Broken } from "../broken/broken";
export { embeddingListing, layerListing, textOf, unembeddingListing } from "../broken/listing";
export { changed, readChange } from "../broken/weights";
export { decoderOf } from "./decoder";
export { Dense, wholeRun } from "./dense";
export { generate, prompted } from "./generate";
export { wordOf } from "./inputs";
export { orderOf } from "./rerun";
export { carriedOut } from "./worker";
export { shown } from "./truth/atoms";
export { evaluate, outcome, sequenceTruth } from "./truth/sequence";
export { softened, Softness } from "./soft";
