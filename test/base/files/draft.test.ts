/** Outputs that appear whole or not at all, and what remains of them when a process is killed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isReplaceable, isTaken, writeAtomic } from '../../../src/base/files/draft.js';
import { built } from '../../support/built.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

/** Runs lines of a program that writes `output`, and is killed or exits midway. */
function cutOff(output: string, lines: string): void {
  const module = pathToFileURL(built('src/base/files/draft.js')).href;
  const script = `import { writeFileSync, mkdirSync, rmSync } from 'node:fs';
    import { keepLocksUntilExit, writeAtomic } from '${module}';
    keepLocksUntilExit();
    const output = ${JSON.stringify(output)};
    const write = (draft) => { mkdirSync(draft); writeFileSync(draft + '/a', 'first'); };
    ${lines}`;
  spawnSync(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' });
}

const writeSecond = (output: string) =>
  writeAtomic(output, (draft) => {
    mkdirSync(draft);
    writeFileSync(join(draft, 'a'), 'second');
  });

describe('writeAtomic', () => {
  it.each([
    [
      'it is killed midway',
      "writeAtomic(output, (draft) => { write(draft); process.kill(process.pid, 'SIGKILL'); });",
    ],
    ['its process exits midway', 'writeAtomic(output, (draft) => { write(draft); process.exit(3); });'],
    [
      'it is killed while it waits',
      "await writeAtomic(output, async (draft) => { write(draft); process.kill(process.pid, 'SIGKILL'); });",
    ],
  ])('leaves no output under the final name if %s, and can be repeated', (_, lines) => {
    const output = join(temporaryDirectory(), 'out');
    cutOff(output, lines);
    expect(existsSync(output)).toBe(false);
    expect(existsSync(`${output}.partial`)).toBe(true);
    writeSecond(output);
    expect(readFileSync(join(output, 'a'), 'utf8')).toBe('second');
    expect(readdirSync(join(output, '..'))).toEqual(['out']);
  });

  it('replaces a draft whose writer was killed while taking over an earlier lock', () => {
    const output = join(temporaryDirectory(), 'out');
    writeFileSync(`${output}.partial`, 'half');
    writeFileSync(`${output}.partial.lock.${2 ** 30}`, '');
    writeSecond(output);
    expect(readdirSync(join(output, '..'))).toEqual(['out']);
  });

  it('can be repeated by the same process, and leaves no lock', () => {
    const output = join(temporaryDirectory(), 'out');
    const again =
      "rmSync(output, { recursive: true }); writeAtomic(output, write); writeFileSync(output + '/b', '');";
    cutOff(output, `writeAtomic(output, write); ${again}`);
    expect(readdirSync(output)).toEqual(['a', 'b']);
    expect(readdirSync(join(output, '..'))).toEqual(['out']);
  });

  it('can be repeated if it is killed after completing the output, unless the output was changed', () => {
    const folder = temporaryDirectory();
    const output = join(folder, 'out');
    const lines = "writeAtomic(output, write); process.kill(process.pid, 'SIGKILL');";
    cutOff(output, lines);
    expect(readFileSync(join(output, 'a'), 'utf8')).toBe('first');
    expect([isReplaceable(output), isTaken(output)]).toEqual([true, false]);
    writeSecond(output);
    expect(readFileSync(join(output, 'a'), 'utf8')).toBe('second');
    expect(isTaken(output)).toBe(true);
    cutOff(join(folder, 'other'), lines);
    writeFileSync(join(folder, 'other', 'mine'), 'precious');
    expect(isTaken(join(folder, 'other'))).toBe(true);
    expect(() => writeSecond(join(folder, 'other'))).toThrow();
    expect(readFileSync(join(folder, 'other', 'mine'), 'utf8')).toBe('precious');
    cutOff(join(folder, 'edited'), lines);
    writeFileSync(join(folder, 'edited', 'a'), 'edited');
    expect(isTaken(join(folder, 'edited'))).toBe(true);
  });

  it('leaves no draft or lock after a normal exit', () => {
    const output = join(temporaryDirectory(), 'out');
    cutOff(output, 'writeAtomic(output, write);');
    expect(readdirSync(join(output, '..'))).toEqual(['out']);
    expect(isTaken(output)).toBe(true);
  });

  it('removes its draft after an error, synchronous or asynchronous', async () => {
    const folder = temporaryDirectory();
    const fail = (draft: string) => {
      writeFileSync(draft, 'half');
      throw new Error('full');
    };
    expect(() => writeAtomic(join(folder, 'a'), fail)).toThrow('full');
    await expect(writeAtomic(join(folder, 'b'), async (draft) => fail(draft))).rejects.toThrow('full');
    expect(readdirSync(folder)).toEqual([]);
  });

  it('rejects a device, and a name that is too long', () => {
    expect(() => writeAtomic('/dev/null', () => undefined)).toThrow(/is a device/);
    const long = join(temporaryDirectory(), 'é'.repeat(130));
    expect(() => writeAtomic(long, () => undefined)).toThrow(/260 bytes is too long/);
  });
});
