/**
 * Who wins in a collection: for each source of candidates its share of the iterations' winners, as a multiple of its share of
 * the candidates, by family of tasks and by how many evaluations there were. A source that wins less than half its share
 * everywhere earns no place in the pool.
 *
 * Run: npx tsx scripts/embedded/sources.ts COLLECTION
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { readRun } from '../../src/runs/reader.js';
import { sum } from '../../src/statistics/descriptive.js';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('name the directory of a collection');

/** Candidates that a source gave, and how many of them won: the best of their iteration, and above all before. */
interface Count {
  given: number;
  won: number;
}

const tables = new Map<string, Map<string, Count>>();

function note(table: string, source: string, won: boolean): void {
  const counts = tables.get(table) ?? new Map<string, Count>();
  tables.set(table, counts);
  const count = counts.get(source) ?? { given: 0, won: 0 };
  counts.set(source, { given: count.given + 1, won: count.won + (won ? 1 : 0) });
}

const stageOf = (evaluations: number) =>
  evaluations < 20 ? 'below 20' : evaluations < 50 ? '20 to 49' : '50 and more';

const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
for (const { name } of names) {
  const { calls, entries } = readRun(join(folder, name));
  const memberOf = new Map(
    calls.map(({ candidate, iteration, member }) => [`${iteration}/${candidate}`, member]),
  );
  const pool = [...new Set(memberOf.values())].includes('gp') ? 'with gp' : 'without gp';
  const family = name.slice(name.indexOf('-') + 1);
  let best = Number.NEGATIVE_INFINITY;
  for (const iteration of new Set(entries.map((entry) => entry.iteration))) {
    const own = entries.filter((entry) => entry.iteration === iteration);
    const highest = Math.max(...own.map(({ score }) => score));
    if (iteration > 0) {
      const winner = highest > best ? own.find(({ score }) => score === highest) : undefined;
      // The memory knows one candidate of each iteration: as many evaluations as iterations.
      for (const entry of own) {
        const source = memberOf.get(`${iteration}/${entry.candidate}`) ?? '?';
        for (const table of ['all', family, `${stageOf(iteration + 4)} evaluations`])
          note(`${pool}: ${table}`, source, entry === winner);
      }
    }
    // What the others of a group reached is not known to what follows.
    const first = own[0]!;
    best = Math.max(best, ...(iteration === 0 ? own : [first]).map(({ score }) => score));
  }
}

for (const [table, counts] of [...tables].toSorted(([a], [b]) => a.localeCompare(b))) {
  const given = sum([...counts.values()].map((count) => count.given));
  const won = sum([...counts.values()].map((count) => count.won));
  const cells = [...counts]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([source, count]) => `${source} ${(count.won / won / (count.given / given)).toFixed(2)}`);
  process.stdout.write(`${table.padEnd(40)} ${String(won).padStart(6)} winners  ${cells.join(', ')}\n`);
}
