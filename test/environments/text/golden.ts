/** Games of TextWorld with what TextWorld 1.7.0 did in them, by both of its ways to play. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { GameFile } from '../../../src/environments/text/textworld/game-file.js';
import type { Dialect } from '../../../src/environments/text/textworld/quests.js';

const here = dirname(fileURLToPath(import.meta.url));
const complete = join(here, '../../../../shared/golden-text');

/** The yardsticks beside the checkout where they are, else the few that it holds. */
const goldenFolder = existsSync(complete) ? complete : join(here, '../../fixtures/golden-text');

interface GoldenState {
  readonly admissible_commands: readonly string[];
  readonly score: number | null;
  readonly won: boolean;
  readonly lost: boolean;
  readonly done: boolean | null;
  readonly text: string | null;
  readonly description: string;
  readonly inventory: string;
  readonly moves: number;
}

export interface GoldenStep extends Readonly<Record<Dialect, GoldenState>> {
  readonly step: number;
  readonly command: string | null;
}

const unzipped = (...path: string[]) =>
  gunzipSync(readFileSync(join(goldenFolder, ...path))).toString('utf8');

export const goldenGames: readonly string[] = readdirSync(join(goldenFolder, 'games')).map((file) =>
  file.replace('.json.gz', ''),
);

/** The games that are there in compiled form, too. */
export const goldenStories: readonly string[] = existsSync(join(goldenFolder, 'z8'))
  ? readdirSync(join(goldenFolder, 'z8')).map((file) => file.replace('.z8.gz', ''))
  : [];

export const goldenStory = (name: string): Uint8Array =>
  gunzipSync(readFileSync(join(goldenFolder, 'z8', `${name}.z8.gz`)));

export const goldenGame = (name: string): GameFile =>
  JSON.parse(unzipped('games', `${name}.json.gz`)) as GameFile;

/** The traces in which both ways to play do the same. */
export const goldenTraces = (name: string): readonly (readonly GoldenStep[])[] =>
  tracesOf(name, (file) => !file.includes('.probe.'));

/** Odd commands, which only the compiled game answers. */
export const goldenProbe = (name: string): readonly GoldenStep[] =>
  tracesOf(name, (file) => file.includes('.probe.'))[0]!;

const tracesOf = (name: string, isMeant: (file: string) => boolean): readonly (readonly GoldenStep[])[] =>
  readdirSync(join(goldenFolder, 'traces'))
    .filter((file) => file.startsWith(`${name}.`) && isMeant(file))
    .map((file) =>
      unzipped('traces', file)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as GoldenStep),
    );

interface ExpressStep {
  readonly command: string | null;
  readonly observation: string;
  readonly score: number;
  readonly tasksuccess: boolean;
  readonly taskfailure: boolean;
  readonly reward: number;
  readonly done: boolean;
  readonly numMoves: number;
  readonly validActions: readonly string[];
}

interface ExpressStart extends ExpressStep {
  readonly game: string;
  readonly params: string;
  readonly fold: string;
  readonly seed: number;
  readonly taskDescription: string;
  readonly gold: readonly string[] | null;
}

/** What TextWorldExpress did in its games. */
export const expressTraces = (): readonly (readonly [ExpressStart, ...ExpressStep[]])[] =>
  readdirSync(join(goldenFolder, 'textworld-express')).map(
    (file) =>
      unzipped('textworld-express', file)
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as ExpressStep) as [ExpressStart, ...ExpressStep[]],
  );
