import type { Frame } from '../../environments/frame.js';

export interface Moment {
  readonly frame: Frame;
  readonly step: number;
  readonly return: number;
}

export interface Animation {
  /** For example, `CartPole-v1 · iteration 12`. */
  readonly title: string;
  /** At least one, oldest first; evenly spaced except for the last. */
  readonly moments: readonly Moment[];
  readonly pace: Pace;
}

export interface Pace {
  readonly stride: number;
  readonly seconds: number;
  /** Playback speed relative to the task's own speed; absent if it is about the same or the task has none. */
  readonly speed?: number;
}

/** Approximate time in seconds for which the last moment is shown before the animation repeats. */
export const holdSeconds = 1.2;

const maxFrameRate = 30; // pictures per second; more would not be noticed
const maxSeconds = 20; // longer animations are sped up
const maxUntimedSeconds = 10; // seconds, for tasks without a time scale
const turnSeconds = 0.7;

/**
 * Selects which moments of an episode to show and how fast: at the task's own speed if that takes at most 20 s.
 * @param stepSeconds simulated seconds per step; without it, each step is a turn of at most 0.7 s
 * @param maxFrames maximum number of moments, at least 2
 */
export function paceOf(stepCount: number, stepSeconds: number | undefined, maxFrames: number): Pace {
  const maxDuration = stepSeconds === undefined ? maxUntimedSeconds : maxSeconds;
  const stepDuration = Math.min(stepSeconds ?? turnSeconds, maxDuration / Math.max(1, stepCount));
  const minStride = Math.max(1, Math.ceil(stepCount / (maxFrames - 1)));
  const stride = Math.max(minStride, Math.round(1 / (maxFrameRate * stepDuration)));
  const seconds = stride * stepDuration;
  const speed = stepSeconds === undefined ? 1 : (stride * stepSeconds) / seconds;
  return { stride, seconds, ...(Math.abs(speed - 1) > 0.05 && { speed }) };
}

/** True for every `stride`-th step and the last one. */
export function isShown(step: number, stepCount: number, { stride }: Pace): boolean {
  return step % stride === 0 || step === stepCount;
}

/** Figures shown between the title and the scene. */
export interface Caption {
  readonly return: string;
  readonly step: string;
}

/** Captions of all moments. Their returns have the same number of decimals, so the digits don't shift. */
export function captionsOf({ moments }: Pick<Animation, 'moments'>): readonly Caption[] {
  const decimals = moments.every((moment) => Number.isInteger(moment.return))
    ? 0
    : moments.some((moment) => Math.abs(moment.return) >= 100)
      ? 1
      : 2;
  const lastStep = moments.at(-1)!.step;
  return moments.map(({ step, return: total }) => ({
    return: total.toFixed(decimals).replace('-', '−'),
    step: `${step} of ${lastStep}`,
  }));
}

/** Example: `2.5× speed`; undefined at the task's own speed, or if the task has none. */
export function speedText({ speed }: Pace): string | undefined {
  if (speed === undefined) return undefined;
  return `${speed >= 10 ? Math.round(speed) : Number(speed.toPrecision(2))}× speed`;
}

/** The layout of a picture, in its own units, with y pointing down. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Area in which frames are drawn; anything beyond it is clipped. */
  readonly scene: {
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
  };
  /** Picture units per frame unit. */
  readonly scale: number;
  readonly caption: {
    readonly margin: number;
    readonly title: { readonly baseline: number; readonly size: number };
    readonly figures: { readonly baseline: number; readonly size: number };
    /** x positions of the columns: name and value of the return, then of the step. */
    readonly columns: readonly [number, number, number, number];
  };
}

/** Lays out a picture of this width: the caption, and below it the scene, which fits into a square of this width. */
export function layoutOf({ view }: Pick<Frame, 'view'>, width: number): Layout {
  const [frameWidth, frameHeight] = [view.max[0] - view.min[0], view.max[1] - view.min[1]];
  const scale = width / Math.max(frameWidth, frameHeight);
  const top = Math.round(width * 0.125);
  const scene = {
    left: Math.round((width - frameWidth * scale) / 2),
    top,
    width: Math.round(frameWidth * scale),
    height: Math.round(frameHeight * scale),
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
