/** An episode as pictures one after another, before anything is known of a file format. */
import type { Frame, Point } from '../environments/frame.js';

/** File formats that an animation can be written in. */
export const pictureFormats = ['gif', 'svg'] as const;
export type PictureFormat = (typeof pictureFormats)[number];

/** A state of the episode. */
export interface Moment {
  readonly frame: Frame;
  /** Steps taken. */
  readonly step: number;
  /** Sum of the rewards so far. */
  readonly return: number;
}

export interface Animation {
  /** E.g. `CartPole-v1 · iteration 12`. */
  readonly title: string;
  /** At least one, oldest first; all but the last are equally far apart. */
  readonly moments: readonly Moment[];
  readonly pace: Pace;
}

export interface Pace {
  /** Steps from one moment to the next. */
  readonly stride: number;
  /** How long a moment is shown. */
  readonly seconds: number;
  /** Times the task's own speed, where it has one and this differs. */
  readonly speed?: number;
}

/** How long the last moment stays before the episode begins anew. */
export const holdSeconds = 1.2;

const highestRate = 30; // pictures a second: more are not seen
const longestSeconds = 20; // what runs longer is sped up
const longestTurns = 10; // s, of tasks without a time of their own
const turnSeconds = 0.7;

/**
 * Which moments of an episode to show, and how fast: at the task's own speed while that takes at most 20 s.
 * @param stepSeconds simulated seconds of a step; without them every step is a turn of at most 0.7 s
 * @param options `maxFrames`: the most moments, at least 2; `fps`: a rate instead, of every step where that many fit
 */
export function paceOf(
  steps: number,
  stepSeconds: number | undefined,
  options: { readonly maxFrames: number; readonly fps?: number | undefined },
): Pace {
  const { maxFrames, fps } = options;
  const longest = stepSeconds === undefined ? longestTurns : longestSeconds;
  const step = Math.min(stepSeconds ?? turnSeconds, longest / Math.max(1, steps));
  const fewest = Math.max(1, Math.ceil(steps / (maxFrames - 1)));
  const stride = fps === undefined ? Math.max(fewest, Math.round(1 / (highestRate * step))) : fewest;
  const seconds = fps === undefined ? stride * step : 1 / fps;
  const speed = stepSeconds === undefined ? 1 : (stride * stepSeconds) / seconds;
  return { stride, seconds, ...(Math.abs(speed - 1) > 0.05 && { speed }) };
}

/** Whether a moment is shown at this step of an episode of `steps`. */
export function isShown(step: number, steps: number, { stride }: Pace): boolean {
  return step % stride === 0 || step === steps;
}

/** The text above the picture, beside the title. */
export interface Caption {
  readonly return: string;
  readonly step: string;
}

/** The captions of all moments, with the same digits after the point, so that they don't jump. */
export function captionsOf({ moments }: Pick<Animation, 'moments'>): readonly Caption[] {
  const decimals = moments.every((moment) => Number.isInteger(moment.return))
    ? 0
    : moments.some((moment) => Math.abs(moment.return) >= 100)
      ? 1
      : 2;
  const last = moments.at(-1)!.step;
  return moments.map(({ step, return: total }) => ({
    return: total.toFixed(decimals).replace('-', '−'),
    step: `${step} of ${last}`,
  }));
}

/** Seconds from the first moment until the episode begins anew. */
export function durationOf({ moments, pace }: Pick<Animation, 'moments' | 'pace'>): number {
  return (moments.length - 1) * pace.seconds + Math.max(pace.seconds, holdSeconds);
}

/** `2.5× speed`; undefined at the task's own. */
export function speedText({ speed }: Pace): string | undefined {
  if (speed === undefined) return undefined;
  return `${speed >= 10 ? Math.round(speed) : Number(speed.toPrecision(2))}× speed`;
}

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
