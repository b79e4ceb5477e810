/**
 * Results of the baselines on each family of synthetic tasks, for the table in docs/tasks.md. Rows are appended, so
 * rerunning the command resumes it. Tasks are draws on which search pays; the number of draws needed is also recorded.
 *
 * Run: npx tsx scripts/controls/families.ts [--tasks 8] [--families a,b] [--controls random,mix] [--markdown FILE]
 */
import { writeFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { syntheticIds } from '../../src/environments/catalogue/synthetic.js';
import { deriveSeeds } from '../../src/random/generator.js';
import { evaluationSeeds, warmupGenerator } from '../../src/random/seeds.js';
import type { Baseline } from '../../src/search/baseline.js';
import { createCmaEs } from '../../src/search/cma-es.js';
import { createGp } from '../../src/search/gp.js';
import { createHillClimb, createMix, createRandomSearch } from '../../src/search/local-search.js';
import { acceptanceSchema, findingsOf, gainOf } from '../../src/studies/collection/acceptance.js';
import { type FamilyRow, familiesTable } from './families-table.js';
import { budgets, type PlayedTask, reachedBy, scoreOf, taskOf } from './play.js';
import { appendRow, readRows, rounded } from './rows.js';

const file = 'bench/rows/controls-families.jsonl.gz';
/** First seed of each family's draws; no training uses them. */
const seed = 3_000_017;
/** Maximum number of rejected draws per task of the table. */
const mostDraws = 40;

const { values } = parseArgs({
  options: {
    tasks: { type: 'string', default: '8' },
    families: { type: 'string' },
    controls: { type: 'string' },
    markdown: { type: 'string' },
  },
});

const controls: Readonly<Record<string, () => Baseline>> = {
  random: createRandomSearch,
  hill: () => createHillClimb({ provider: 'hill-climb' }),
  mix: createMix,
  cma: () => createCmaEs({ provider: 'cma-es' }),
  gp: createGp,
};

/** Episodes per evaluation: more if starting states or chance matter more. */
function episodesOf(family: string): number {
  if (/landscape|sparse|gaussian|network|product/.test(family)) return 1;
  if (/heaps|game|grid|mdp/.test(family)) return 20;
  return /arm|hop|swing|delayed|regulate/.test(family) ? 12 : 4;
}

function drawn(family: string, number: number): PlayedTask {
  const own = deriveSeeds(seed, [number], 1)[0]! >>> 1;
  const point = family === 'landscape' || family === 'sparse';
  return taskOf({
    environment: { id: `synthetic:${family}`, options: { seed: own } },
    evaluation: { episodes: episodesOf(family), maxSteps: 1000 },
    policy: point ? { kind: 'linear', bias: false, low: -6, high: 6, decimals: 1 } : undefined,
    seed: own,
  });
}

/** Share of 50 random policies that have the most common return. */
function tiesOf(task: PlayedTask): number {
  const random = warmupGenerator(task.seed + 1);
  const seeds = evaluationSeeds(task.seed, task.episodes);
  const counts = new Map<number, number>();
  for (let i = 0; i < 50; i++) {
    const score = scoreOf(task, task.family.initial(random), seeds);
    counts.set(score, (counts.get(score) ?? 0) + 1);
  }
  return Math.max(...counts.values()) / 50;
}

/** Judges one draw and writes its row. */
function draw(family: string, from: number): FamilyRow & { readonly kind: 'draw' } {
  const task = drawn(family, from);
  const accept = acceptanceSchema.parse({ episodes: Math.min(task.episodes, 10) });
  const found = gainOf(
    findingsOf(task, accept, task.seed, (findings) => {
      const gain = gainOf(findings);
      return gain !== undefined && gain.left >= accept.largerGain && gain.begun < accept.warmup;
    }),
  );
  const solved = found === undefined || found.begun >= accept.warmup;
  const row = {
    kind: 'draw',
    family,
    number: from,
    parameters: task.family.parameters.count,
    ties: tiesOf(task),
    left: solved ? 0 : Number(found.left.toPrecision(3)),
    median: Number(medianOf(task).toPrecision(6)),
  } as const;
  appendRow(file, row);
  return row;
}

/** Median return of 50 random policies on the episodes that confirm the searches. */
function medianOf(task: PlayedTask): number {
  const random = warmupGenerator(task.seed + 2);
  const seeds = evaluationSeeds(task.seed + 3, 20);
  const scores = Array.from({ length: 50 }, () => scoreOf(task, task.family.initial(random), seeds));
  return scores.toSorted((a, b) => a - b)[25]!;
}

async function playFamily(family: string, tasks: number, names: readonly string[]): Promise<void> {
  const rows = readRows<FamilyRow>(file).filter((row) => row.family === family);
  const draws = rows.flatMap((row) => (row.kind === 'draw' ? [row] : []));
  const done = new Set(rows.flatMap((row) => (row.kind === 'run' ? [`${row.number} ${row.control}`] : [])));
  const accepted = () => draws.filter(({ left }) => left >= 0.1).slice(0, tasks);
  while (accepted().length < tasks && draws.length < mostDraws) draws.push(draw(family, draws.length));
  for (const { number } of accepted()) {
    for (const name of names) {
      if (done.has(`${number} ${name}`)) continue;
      const at = name === 'mix' ? [...budgets, 400] : budgets;
      const reached = rounded(await reachedBy(drawn(family, number), controls[name]!(), at));
      appendRow(file, { kind: 'run', family, number, control: name, reached } satisfies FamilyRow);
    }
  }
}

const families = values.families?.split(',') ?? syntheticIds.map((id) => id.slice('synthetic:'.length));
const names = values.controls?.split(',') ?? Object.keys(controls);
for (const family of families) await playFamily(family, Number(values.tasks), names);
const table = familiesTable(readRows<FamilyRow>(file), Object.keys(controls));
if (values.markdown !== undefined) writeFileSync(values.markdown, table);
process.stdout.write(table);
