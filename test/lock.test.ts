import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../src/errors.js';
import { isLocked, lockRun } from '../src/lock.js';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'lock-')), 'run.lock');
});

describe('lockRun', () => {
  it('lets one writer in and gives the lock back', () => {
    const release = lockRun(path);
    expect(isLocked(path)).toBe(true);
    expect(() => lockRun(path)).toThrow(UserError);
    release();
    expect(existsSync(path)).toBe(false);
    lockRun(path)();
  });

  it('refuses while another process lives, and names it', () => {
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
    try {
      writeFileSync(path, `${child.pid} ${hostname()}\n`);
      expect(() => lockRun(path)).toThrow(`process ${child.pid} on ${hostname()}`);
    } finally {
      child.kill();
    }
  });

  it('takes over the lock of a process that is gone', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => child.once('exit', resolve));
    writeFileSync(path, `${child.pid} ${hostname()}\n`);
    expect(isLocked(path)).toBe(false);
    lockRun(path)();
  });

  it('takes over a stale lock that carries this process’s own, reused id', () => {
    writeFileSync(path, `${process.pid} ${hostname()}\n`);
    lockRun(path)();
  });

  it('takes over a lock that a full disk left empty', () => {
    writeFileSync(path, '');
    lockRun(path)();
  });

  it('believes the lock of another host', () => {
    writeFileSync(path, '1 some-other-host\n');
    expect(() => lockRun(path)).toThrow('process 1 on some-other-host');
  });
});
