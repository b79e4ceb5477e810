/**
 * Tables of the ziggurat method for the standard normal (J. A. Doornik, "An Improved Ziggurat Method to Generate Normal
 * Random Samples", 2005) in NumPy's layout: 256 strips of equal area under f(x) = exp(-x²/2), 52-bit magnitudes.
 * Strip 0 is the base with the tail; strip i ≥ 1 spans 0 … x_i and x_255 is where the tail starts.
 */

/** Start of the tail. */
export const tailStart = 3.6541528853610088;
const strips = 256;
const scale = 2 ** 52;

/** Width of a strip for each unit of the magnitude. */
export const stripWidth = new Float64Array(strips);
/** Magnitudes below this lie under the curve whatever their height. */
export const stripCore = new Float64Array(strips);
/** f(x_i), the height of the curve at the right end of a strip. */
export const stripHeight = new Float64Array(strips);

/** Area of a strip: the base rectangle and the tail, √(π/2)·erfc(tailStart/√2). */
const stripArea = 0.004928673233974653;

fillTables();

function fillTables(): void {
  const tailHeight = density(tailStart);
  stripWidth[0] = stripArea / tailHeight / scale;
  stripCore[0] = Math.floor(((tailStart * tailHeight) / stripArea) * scale);
  stripHeight[0] = 1;
  stripWidth[strips - 1] = tailStart / scale;
  stripHeight[strips - 1] = tailHeight;
  let x = tailStart;
  for (let i = strips - 2; i >= 1; i--) {
    const outer = x;
    x = Math.sqrt(-2 * Math.log(stripArea / outer + stripHeight[i + 1]!));
    stripCore[i + 1] = Math.floor((x / outer) * scale);
    stripWidth[i] = x / scale;
    stripHeight[i] = density(x);
  }
  stripCore[1] = 0;
}

function density(x: number): number {
  return Math.exp(-0.5 * x * x);
}
