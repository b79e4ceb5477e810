import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { runFiles } from '../runs/reader.js';
import { type RunDirectory, replaceFile } from '../runs/writer.js';
import {
  drawBounded,
  drawEpisode,
  drawnIterations,
  iterationName,
  makeAnimationsFolder,
  openDrawable,
} from './animations.js';
import type { Assembly } from './assemble.js';
import { bestEntries } from './stages.js';

/** Draws a run as it goes: the best candidate of every Nth iteration. */
export interface IterationAnimations {
  /**
   * Draws every one that is due up to this iteration and is not there yet: a run that was cut off loses none.
   * @param warn told what could not be drawn: a run does not end for a picture
   */
  drawUpTo(iteration: number, entries: readonly BufferEntry[], warn: (message: string) => void): void;
  close(): void;
}

const width = 480; // pixels

/** Undefined when the config wants none. @throws UserError when it wants pictures of an environment that can't be drawn */
export async function openIterationAnimations(
  { config, family }: Assembly,
  { path, manifest, recorded }: RunDirectory,
): Promise<IterationAnimations | undefined> {
  const { every } = config.render;
  if (every === undefined) return undefined;
  // Of an iteration that was not recorded whole, and may go otherwise this time.
  for (const { iteration, file } of drawnIterations(path)) {
    if (iteration > recorded.iteration) rmSync(join(path, file));
  }
  const environment = await openDrawable(config, 'render.every');
  const stage = { config, seed: manifest.seed, environment, family };
  const draw = (iteration: number, entries: readonly BufferEntry[]): void => {
    const file = join(path, runFiles.animations, `${iterationName(iteration)}.svg`);
    if (existsSync(file)) return;
    const [entry] = bestEntries(
      entries.filter((one) => one.iteration === iteration),
      1,
    );
    if (entry === undefined) return; // every candidate was rejected
    makeAnimationsFolder(path);
    const { svg } = drawBounded(
      (maxFrames) => drawEpisode(stage, entry, { kind: 'evaluated', episode: 0 }, { maxFrames }),
      width,
    );
    replaceFile(file, svg);
  };
  let next = every;
  return {
    drawUpTo(iteration, entries, warn) {
      for (; next <= iteration; next += every) {
        try {
          draw(next, entries);
        } catch (error) {
          warn(`iteration ${next} could not be drawn: ${messageOf(error)}`);
        }
      }
    },
    close: () => environment.close?.(),
  };
}
