// The engine by itself, as the tests run it.

export { unpacked } from "../data";
export { decoderOf } from "./decoder";
export { Dense, wholeRun } from "./dense";
export { generate, prompted } from "./generate";
