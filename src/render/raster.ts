/** Anti-aliased shapes on a raster of palette indices. */
import type { Point } from '../environments/frame.js';
import type { Blends } from './colours.js';

/** Pixels of a picture, x to the right and y downwards, from the top left corner; a pixel's middle lies at +0.5. */
export interface Raster {
  /** One palette index a pixel, row by row. */
  readonly pixels: Uint8Array;
  /** Paints everything, within the clip too. */
  clear(colour: number): void;
  /** Only pixels within are painted from here on. */
  clip(left: number, top: number, right: number, bottom: number): void;
  /** Through the points of each stroke, with round ends and joints; a stroke of one point is a disc. */
  strokes(strokes: readonly (readonly Point[])[], width: number, colour: number): void;
  /** By the even-odd rule. */
  polygon(points: readonly Point[], colour: number): void;
}

/** Scan lines within a row of pixels. */
const subRows = 4;

export function createRaster(width: number, height: number, blends: Blends): Raster {
  const pixels = new Uint8Array(width * height);
  /** How much of each pixel the present shape covers, 0 … 1. */
  const cover = new Float32Array(width * height);
  let bounds = { left: 0, top: 0, right: width, bottom: height };

  /** The pixels that a shape between these may touch. */
  const within = (left: number, top: number, right: number, bottom: number) => ({
    left: Math.max(bounds.left, Math.floor(left)),
    top: Math.max(bounds.top, Math.floor(top)),
    right: Math.min(bounds.right, Math.ceil(right)),
    bottom: Math.min(bounds.bottom, Math.ceil(bottom)),
  });

  /** Paints what is covered, and forgets it. */
  const paint = (area: typeof bounds, colour: number): void => {
    for (let y = area.top; y < area.bottom; y++) {
      for (let i = y * width + area.left; i < y * width + area.right; i++) {
        const share = cover[i]!;
        if (share === 0) continue;
        pixels[i] = share === 1 ? colour : blends.mix(pixels[i]!, colour, share);
        cover[i] = 0;
      }
    }
  };

  /** Distance from a segment, so that a pixel whose middle lies on the edge is half covered. */
  const coverSegment = ([x0, y0]: Point, [x1, y1]: Point, radius: number): void => {
    const reach = radius + 0.5;
    const area = within(
      Math.min(x0, x1) - reach,
      Math.min(y0, y1) - reach,
      Math.max(x0, x1) + reach,
      Math.max(y0, y1) + reach,
    );
    const [dx, dy] = [x1 - x0, y1 - y0];
    const squared = dx * dx + dy * dy;
    for (let y = area.top; y < area.bottom; y++) {
      for (let x = area.left; x < area.right; x++) {
        const [px, py] = [x + 0.5 - x0, y + 0.5 - y0];
        const along = squared === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / squared));
        const [ex, ey] = [px - along * dx, py - along * dy];
        const share = reach - Math.sqrt(ex * ex + ey * ey); // Math.hypot is many times slower
        const i = y * width + x;
        if (share > cover[i]!) cover[i] = Math.min(1, share);
      }
    }
  };

  const coverSpan = (y: number, from: number, to: number, area: typeof bounds): void => {
    const [start, end] = [Math.max(from, area.left), Math.min(to, area.right)];
    for (let x = Math.floor(start); x < end; x++) {
      const i = y * width + x;
      cover[i] = Math.min(1, cover[i]! + (Math.min(end, x + 1) - Math.max(start, x)) / subRows);
    }
  };

  return {
    pixels,
    clear: (colour) => pixels.fill(colour),
    clip(left, top, right, bottom) {
      bounds = {
        left: Math.max(0, left),
        top: Math.max(0, top),
        right: Math.min(width, right),
        bottom: Math.min(height, bottom),
      };
    },
    strokes(strokes, thickness, colour) {
      const radius = Math.max(thickness, 1) / 2;
      for (const points of strokes) {
        for (let i = 0; i < Math.max(1, points.length - 1); i++) {
          coverSegment(points[i]!, points[i + 1] ?? points[i]!, radius);
        }
      }
      paint(boundsOf(strokes.flat(), radius + 0.5, within), colour);
    },
    polygon(points, colour) {
      const area = boundsOf(points, 0, within);
      const lines = crossingsOf(points, area.top * subRows, area.bottom * subRows);
      for (const [line, crossings] of lines.entries()) {
        const y = area.top + Math.floor(line / subRows);
        crossings.sort((a, b) => a - b);
        for (let i = 0; i + 1 < crossings.length; i += 2) {
          coverSpan(y, crossings[i]!, crossings[i + 1]!, area);
        }
      }
      paint(area, colour);
    },
  };
}

function boundsOf<Area>(
  points: readonly Point[],
  reach: number,
  within: (left: number, top: number, right: number, bottom: number) => Area,
): Area {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return within(left - reach, top - reach, right + reach, bottom + reach);
}

/** Where the outline of a polygon crosses each scan line from `first` up to, not including, `end`. */
function crossingsOf(points: readonly Point[], first: number, end: number): readonly number[][] {
  const lines = Array.from({ length: Math.max(0, end - first) }, (): number[] => []);
  /** The first scan line at or below y; line n lies in the middle of its share of a pixel. */
  const lineAt = (y: number) => Math.ceil(y * subRows - 0.5);
  for (let i = 0; i < points.length; i++) {
    const [x0, y0] = points[i]!;
    const [x1, y1] = points[(i + 1) % points.length]!;
    const slope = (x1 - x0) / (y1 - y0);
    const last = Math.min(end, lineAt(Math.max(y0, y1)));
    for (let line = Math.max(first, lineAt(Math.min(y0, y1))); line < last; line++) {
      lines[line - first]!.push(x0 + ((line + 0.5) / subRows - y0) * slope);
    }
  }
  return lines;
}
