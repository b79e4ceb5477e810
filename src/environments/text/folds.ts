/** Splits games by their description, so that what is learnt on one fold never occurs in another. */
import { createHash } from 'node:crypto';

export const folds = ['train', 'dev', 'test'] as const;
export type Fold = (typeof folds)[number];

/** Of ten descriptions, eight belong to `train`, one to `dev` and one to `test`. */
export function foldOf(description: string): Fold {
  const share = createHash('sha256').update(description).digest()[0]! % 10;
  if (share === 8) return 'dev';
  return share === 9 ? 'test' : 'train';
}

/** With a one in ten chance per draw, all draws miss less than once in 10^40 games. */
const mostDraws = 1000;

/**
 * Draws until the description belongs to the fold.
 * @throws Error if no draw does, because the descriptions vary too little
 */
export function drawIn<T>(fold: Fold, draw: () => T, describe: (drawn: T) => string): T {
  for (let tries = 0; tries < mostDraws; tries++) {
    const drawn = draw();
    if (foldOf(describe(drawn)) === fold) return drawn;
  }
  throw new Error(`no draw of ${mostDraws} belongs to the fold ${fold}`);
}
