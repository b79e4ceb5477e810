import type { Frame, Point } from '../environments/frame.js';

/** Where things are in a picture; lengths in its units, y downwards. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The view of the frames. What reaches beyond it is cut off. */
  readonly scene: {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
  /** Units of the picture to one of the frame. */
  readonly scale: number;
  readonly caption: {
    readonly margin: number;
    /** Baselines and sizes of the two lines. */
    readonly title: { readonly baseline: number; readonly size: number };
    readonly figures: { readonly baseline: number; readonly size: number };
    /** Where the figures begin: name and value of the return, then of the step. */
    readonly columns: readonly [number, number, number, number];
  };
}

/** The caption above the scene, in a picture `width` wide whose scene is at most as high as it is wide. */
export function layoutOf({ view }: Pick<Frame, 'view'>, width: number): Layout {
  const [across, up] = [view.max[0] - view.min[0], view.max[1] - view.min[1]];
  const scale = width / Math.max(across, up);
  const top = Math.round(width * 0.125);
  const scene = {
    left: Math.round((width - across * scale) / 2),
    top,
    width: Math.round(across * scale),
    height: Math.round(up * scale),
  };
  const margin = width * 0.03;
  return {
    width,
    height: top + scene.height,
    scene,
    scale,
    caption: {
      margin,
      title: { baseline: width * 0.05, size: width * 0.04 },
      figures: { baseline: width * 0.1, size: width * 0.036 },
      columns: [margin, width * 0.16, width * 0.46, width * 0.55],
    },
  };
}

/** A point of a frame in the scene, from its top left corner. */
export function placeIn(view: Frame['view'], { scale }: Layout, [x, y]: Point): Point {
  return [(x - view.min[0]) * scale, (view.max[1] - y) * scale];
}
