// The engine and the references, which the script of a page offers to a worker that has something of its own to run, such as a test.

export { unpacked } from "../data";
export { decoderOf } from "./decoder";
export { Dense, wholeRun } from "./dense";
export { generate, prompted } from "./generate";
export { shown } from "./truth/atoms";
export { evaluate, outcome, sequenceTruth } from "./truth/sequence";
