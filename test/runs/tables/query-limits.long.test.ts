/** What a query may cost: rows, bytes and memory, whatever it asks. */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as queryCommand } from '../../../src/commands/runs/query.js';
import { query } from '../../../src/runs/tables/query.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const root = resolve(import.meta.dirname, '../../..');

async function json(sql: string, cwd: string) {
  const { context, printed } = recordingContext(cwd);
  await queryCommand({ sql, runsDir: 'buffers', csv: false, json: true }, context);
  return printed.join('\n');
}

function directoryOfRuns(): string {
  const cwd = temporaryDirectory();
  mkdirSync(join(cwd, 'buffers'));
  cpSync(join(root, 'buffers/example-cartpole'), join(cwd, 'buffers', 'a'), { recursive: true });
  return cwd;
}

describe('policyloop query', { timeout: 60_000 }, () => {
  it('keeps the values of columns that share a name', async () => {
    const cwd = directoryOfRuns();
    const columns = async (sql: string) => JSON.parse(await json(sql, cwd)) as unknown;
    expect(await columns('SELECT 5 AS x, 7 AS x')).toEqual([{ x: 5, x_2: 7 }]);
    expect(await columns('SELECT 1 AS x, 2 AS x, 3 AS x_2, 4 AS x')).toEqual([
      { x: 1, x_3: 2, x_2: 3, x_4: 4 },
    ]);
    expect(await columns('SELECT a.run, b.run FROM runs a, runs b')).toEqual([{ run: 'a', run_2: 'a' }]);
    expect(await json('SELECT 1 AS "__proto__", 2 AS y', cwd)).toBe('[{"__proto__":1,"y":2}]');
  });

  it('refuses queries that return too many rows or too much text, or need too much memory', async () => {
    await expect(query('SELECT * FROM range(50000000)', [])).rejects.toThrow(
      /returns more than 1000000 rows/,
    );
    await expect(query("SELECT repeat('x', 1500000000)", [])).rejects.toThrow(/more than 512 MiB of memory/);
    await expect(query("SELECT string_agg(repeat('x', 1000)) FROM range(10000000)", [])).rejects.toThrow(
      /more than 512 MiB of memory\n/,
    );
    await expect(query("SELECT repeat('x', 70000000)", [])).rejects.toThrow(/returns more than 64 MiB/);
    await expect(query("SELECT repeat('é', 35000000)", [])).rejects.toThrow(/returns more than 64 MiB/);
    const { rows } = await query('SELECT count(*) FROM range(1000000)', []);
    expect(rows).toEqual([[1_000_000]]);
  });

  it('answers several queries at once', async () => {
    const answers = await Promise.all([1, 2, 3].map((n) => query(`SELECT ${n} AS n`, [])));
    expect(answers.map(({ rows }) => rows)).toEqual([[[1]], [[2]], [[3]]]);
  });

  it('refuses a log that is a symbolic link or a directory, and names it', async () => {
    const cwd = directoryOfRuns();
    const log = join(cwd, 'buffers', 'a', 'evaluations.jsonl');
    writeFileSync(
      join(cwd, 'outside.jsonl'),
      '{"iteration":0,"candidate":0,"returns":[777],"lengths":[1]}\n',
    );
    rmSync(log);
    symlinkSync(join(cwd, 'outside.jsonl'), log);
    await expect(json('SELECT * FROM evaluations', cwd)).rejects.toThrow(/evaluations\.jsonl: is a link/);
    expect(JSON.parse(await json('SELECT run FROM runs', cwd))).toEqual([{ run: 'a' }]);
    rmSync(log);
    mkdirSync(log);
    await expect(json('SELECT * FROM evaluations', cwd)).rejects.toThrow(/evaluations\.jsonl: is a folder/);
  });
});
