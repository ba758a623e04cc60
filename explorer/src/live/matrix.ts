// Sparse matrices in the arithmetic of the dense engine: each product and each sum is rounded once, in the order of columns.

import type { Matrix } from "./decoder";

/** The linear map of a sparse matrix without its zero rows. */
export class LinearMap {
  /** The rows that have entries, in order. */
  readonly rows: Int32Array;
  private readonly starts: Int32Array;
  private readonly columns: Int32Array;
  private readonly values: Float64Array;

  constructor(matrix: Matrix) {
    const rows: number[] = [];
    const starts: number[] = [];
    matrix.rows.forEach((row, n) => {
      if (row === rows.at(-1)) return;
      rows.push(row);
      starts.push(n);
    });
    this.rows = Int32Array.from(rows);
    this.starts = Int32Array.from([...starts, matrix.rows.length]);
    this.columns = matrix.columns;
    this.values = matrix.values;
  }

  /** Put (matrix · x)[rows] into `sums`; x: (columns,), sums: (rows that have entries,). */
  into(sums: Float64Array, x: Float64Array): void {
    const { rows, starts, columns, values } = this;
    for (let n = 0; n < rows.length; n++) {
      let sum = 0;
      for (let k = starts[n]!; k < starts[n + 1]!; k++) sum += values[k]! * x[columns[k]!]!;
      sums[n] = sum;
    }
  }

  /** Add matrix · x to `target`, which is not x: x (columns,), target (rows,). */
  addTo(target: Float64Array, x: Float64Array): void {
    const { rows, starts, columns, values } = this;
    for (let n = 0; n < rows.length; n++) {
      let sum = 0;
      for (let k = starts[n]!; k < starts[n + 1]!; k++) sum += values[k]! * x[columns[k]!]!;
      target[rows[n]!]! += sum;
    }
  }
}

/** The columns of a matrix, each by its entries. */
export class ColumnsOf {
  private readonly starts: Int32Array;
  private readonly rows: Int32Array;
  private readonly values: Float64Array;

  constructor(matrix: Matrix) {
    const many = matrix.columns.length;
    this.starts = new Int32Array(matrix.width + 1);
    for (const column of matrix.columns) this.starts[column + 1]!++;
    for (let n = 0; n < matrix.width; n++) this.starts[n + 1]! += this.starts[n]!;
    [this.rows, this.values] = [new Int32Array(many), new Float64Array(many)];
    const next = this.starts.slice();
    for (let n = 0; n < many; n++) {
      const at = next[matrix.columns[n]!]!++;
      this.rows[at] = matrix.rows[n]!;
      this.values[at] = matrix.values[n]!;
    }
  }

  get length(): number {
    return this.starts.length - 1;
  }

  /** Add a column to x. */
  addTo(x: Float64Array, column: number): void {
    const end = this.starts[column + 1]!;
    for (let n = this.starts[column]!; n < end; n++) x[this.rows[n]!]! += this.values[n]!;
  }
}

/** The matrix reduced to these rows, which are sorted. */
export function selected(matrix: Matrix, rows: Int32Array): Matrix {
  const place = new Map(Array.from(rows, (row, n) => [row, n]));
  const keep = Array.from(matrix.rows.keys()).filter((n) => place.has(matrix.rows[n]!));
  return {
    height: rows.length,
    width: matrix.width,
    rows: Int32Array.from(keep, (n) => place.get(matrix.rows[n]!)!),
    columns: Int32Array.from(keep, (n) => matrix.columns[n]!),
    values: Float64Array.from(keep, (n) => matrix.values[n]!),
  };
}

/** The only column of a matrix, (rows,). */
export function vector(matrix: Matrix): Float64Array {
  const found = new Float64Array(matrix.height);
  matrix.rows.forEach((row, n) => (found[row] = matrix.values[n]!));
  return found;
}
