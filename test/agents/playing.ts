import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadPlayConfig, playYaml } from '../../src/agents/play-config.js';
import { playInDirectory } from '../../src/agents/play-games.js';
import { gamesOf } from '../../src/agents/play-result.js';
import { playManifest, setUpPlay } from '../../src/agents/play-setup.js';
import type { LanguageModel } from '../../src/models/language-model.js';
import { createRunDirectory } from '../../src/runs/create.js';
import type { RunEvent } from '../../src/runs/events.js';
import { openLogs, readManifest } from '../../src/runs/reader.js';
import { resumeRunDirectory } from '../../src/runs/writer.js';
import { temporaryDirectory, tickingClock } from '../support/experiments.js';

const never = new AbortController().signal;

interface Given {
  readonly path?: string;
  readonly onEvent?: (event: RunEvent) => void;
  readonly finish?: AbortSignal;
  readonly abort?: AbortSignal;
}

/** Plays a ready config in a new directory, or goes on in one that holds a play. */
export async function played(
  config: string,
  overrides: readonly string[],
  model?: LanguageModel,
  { path, onEvent, finish = never, abort = never }: Given = {},
) {
  const loaded = loadPlayConfig(config, overrides);
  const setup = await setUpPlay(loaded.config, {}, model);
  const now = tickingClock();
  const directory =
    path === undefined || !existsSync(path)
      ? createRunDirectory(path ?? join(temporaryDirectory(), 'play'), {
          configYaml: playYaml(loaded.config),
          manifest: playManifest(setup, 'play', now()),
          imported: [],
          now,
        })
      : resumeRunDirectory(path, now);
  let time = 0;
  const display = { show: (event: RunEvent) => onEvent?.(event), close: () => undefined };
  const outside = { now, milliseconds: () => (time += 10), stop: { finish, abort } };
  await playInDirectory(setup, directory, display, outside);
  return readPlay(directory.path);
}

export function readPlay(path: string) {
  const recorded = openLogs(path);
  return { path, manifest: readManifest(path), games: gamesOf(recorded), calls: [...recorded.calls] };
}
