// The changes of weights that the address of a page says: `#set=layers.4.heads.0.query[h,1]=-1`, once for each.

import { Refused } from "../live/refusals";

const SET = "set=";

const parts = (): string[] => location.hash.slice(1).split("&").filter(Boolean);

/** The changes that the address says. Throws `Refused`. */
export function changesInAddress(): string[] {
  return keptInAddress().map((part) => decoded(part.slice(SET.length)));
}

/** The parts of the address that say what is changed, as they stand there. */
export function keptInAddress(): string[] {
  return parts().filter((part) => part.startsWith(SET));
}

/** Put changes into the address, beside what else it says. */
export function keepInAddress(changes: string[]): void {
  const others = parts().filter((part) => !part.startsWith(SET));
  try {
    history.replaceState(null, "", `#${[...others, ...changes.map((text) => SET + encoded(text))].join("&")}`);
  } catch {
    // a frame in a notebook does not have its own address
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refused(`the address says set=${text}, which is not encoded as addresses are: write % as %25`);
  }
}

/** A text for the fragment of an address, readable where the address allows it. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/%(5B|5D|2C|3D|2F|3A)/gi, decodeURIComponent);
}
