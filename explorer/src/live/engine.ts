// The engine, which the script of a page offers to a worker that has something of its own to run, such as a test.

export { unpacked } from "../data";
export { decoderOf } from "./decoder";
export { Dense, wholeRun } from "./dense";
export { generate, prompted } from "./generate";
