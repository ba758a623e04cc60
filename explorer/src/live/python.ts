// Numbers and names as Python writes them, so that a cell of this page is the cell that Python has.

/** An integer as such, as long as floats can tell it from its neighbours; any other number as `repr` writes it. */
export function plainNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return String(value + 0);
  return repr(value);
}

/** A float as `repr` writes it. */
export function repr(value: number): string {
  return special(value) ?? pointed(value.toExponential(), 16);
}

/** A number to six digits, as `:.6g` writes it. */
export function sixDigits(value: number): string {
  return general(value, 6);
}

/** A number to some digits, as `:.17g` writes it; of two that are equally near, the one with an even last digit. */
export function general(value: number, digits: number): string {
  return special(value) ?? pointed(toEven(value, digits), digits, true);
}

/** JavaScript rounds a tie up, and Python to the even digit. */
function toEven(value: number, digits: number): string {
  const [exact, power] = value.toExponential(100).split("e") as [string, string];
  const all = exact.replace(/[-.]/g, "");
  const tie = all[digits] === "5" && /^0*$/.test(all.slice(digits + 1));
  if (!tie || Number(all[digits - 1]) % 2) return value.toExponential(digits - 1);
  const kept = all.slice(0, digits);
  return `${value < 0 ? "-" : ""}${kept[0]}${kept.slice(1) ? `.${kept.slice(1)}` : ""}e${power}`;
}

function special(value: number): string | null {
  if (Object.is(value, -0)) return "-0";
  if (Number.isNaN(value)) return "nan";
  return Number.isFinite(value) ? null : value > 0 ? "inf" : "-inf";
}

/** Digits with an exponent, `1.25e-7`, as Python writes them: without one if it is from -4 up to, not including, `most`. */
function pointed(text: string, most: number, short = false): string {
  const [mantissa, power] = text.split("e") as [string, string];
  const exponent = Number(power);
  const sign = mantissa.startsWith("-") ? "-" : "";
  let digits = mantissa.replace(/[-.]/g, "").replace(/0+$/, "") || "0";
  if (exponent < -4 || exponent >= most) {
    const fraction = digits.slice(1) ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  digits = digits.padEnd(exponent + 1, "0");
  const rest = digits.slice(exponent + 1);
  return `${sign}${digits.slice(0, exponent + 1)}${rest ? `.${rest}` : short ? "" : ".0"}`;
}
