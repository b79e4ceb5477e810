import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createRunDirectory, requireEmpty } from '../../src/runs/create.js';
import { readManifest } from '../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  resumeExperiment,
  runExperimentFrom,
  temporaryDirectory,
} from '../support/experiments.js';

const config = { ...quick, model: { provider: 'random' } } as const;

/** Every file of a directory, with its content. */
const filesOf = (path: string) => readdirSync(path).toSorted();

describe('a directory for a new run', () => {
  it('is accepted if it is empty, and rejected if it contains only a config', () => {
    const path = temporaryDirectory();
    requireEmpty(path);
    writeFileSync(join(path, 'config.yaml'), 'environment: CartPole-v1\n');
    expect(() => requireEmpty(path)).toThrow('this directory is not empty');
  });

  it('may contain files left by an interrupted start, unless another process holds its lock', async () => {
    const path = join(temporaryDirectory(), 'run');
    mkdirSync(path);
    writeFileSync(join(path, 'config.yaml'), 'half');
    writeFileSync(join(path, 'manifest.json.new'), '{');
    writeFileSync(join(path, 'run.lock'), '999999999 elsewhere\n');
    expect(() => requireEmpty(path)).toThrow(UserError);
    // The lock of no process.
    writeFileSync(join(path, 'run.lock'), '');
    await runExperimentFrom(config, { path });
    expect(readManifest(path)).toMatchObject({ status: 'completed' });
    expect(filesOf(path).filter((name) => name.endsWith('.new') || name.includes('lock'))).toEqual([]);
  });

  it('may contain files left by a process that was killed before it had the lock', async () => {
    const path = join(temporaryDirectory(), 'run');
    mkdirSync(path);
    // No process has so high a number.
    writeFileSync(join(path, 'run.lock.999999999'), '9999');
    await runExperimentFrom(config, { path });
    expect(readManifest(path)).toMatchObject({ status: 'completed' });
    expect(filesOf(path).filter((name) => name.includes('lock'))).toEqual([]);
  });

  it('is cleaned up after a failed start', async () => {
    const { path: other } = await runExperimentFrom({ ...config, iterations: 1 });
    const path = join(temporaryDirectory(), 'run');
    // In the way of the manifest.
    mkdirSync(join(path, 'manifest.json.new'), { recursive: true });
    const content = { configYaml: '', manifest: readManifest(other), imported: [], now: () => new Date(0) };
    expect(() => createRunDirectory(path, content)).toThrow('this directory is not empty');
    writeFileSync(join(path, 'run.lock'), '');
    expect(() => createRunDirectory(path, content)).toThrow('manifest.json.new');
    expect(filesOf(path)).toEqual(['manifest.json.new']);
    // As for the second of two processes that start the same run of a sweep.
    const free = join(temporaryDirectory(), 'run');
    const { close } = createRunDirectory(free, content);
    expect(() => createRunDirectory(free, content)).toThrow('another process is writing here');
    expect(close).toBeDefined();
  });
});

describe('resume rejects a run', () => {
  const damaged = async (damage: (path: string) => void) => {
    const whole = await runExperimentFrom(config);
    const path = join(temporaryDirectory(), 'run');
    cpSync(whole.path, path, { recursive: true });
    damage(path);
    return path;
  };

  it.each(['events', 'episodes', 'calls'] as const)(
    'whose %s are missing, without truncating its evaluations',
    async (file) => {
      const path = await damaged((run) => rmSync(join(run, `${file}.jsonl`)));
      const evaluations = readRunFile(path, 'evaluations');
      const from = evaluations.split('\n').slice(0, 3).join('\n').length + 1;
      await expect(resumeExperiment(path)).rejects.toThrow(
        `${join(path, 'evaluations.jsonl')}:4: this file has evaluations of 6 iterations (from byte ${from} on)`,
      );
      expect(readRunFile(path, 'evaluations')).toBe(evaluations);
      expect(existsSync(join(path, 'run.lock'))).toBe(false);
    },
  );

  it.each([
    ['evaluations', '{}', "iteration is missing, or isn't a number"],
    ['evaluations', 'null', "iteration is missing, or isn't a number"],
    ['evaluations', '{"iteration":1,"candidate":0}', "parameters.0 is missing, or isn't a number"],
    ['calls', '{"iteration":1,"candidate":0,"attempt":0}', "outcome.kind is missing, or isn't a string"],
    ['events', '[]', "kind is missing, or isn't a string"],
    ['episodes', '\ud800', 'this line is not valid JSON'],
    ['events', Buffer.from([0x22, 0xff, 0x22]), 'this line is not valid UTF-8'],
  ] as const)('whose %s contain the line %s', async (file, line, message) => {
    let bytes = 0;
    const path = await damaged((run) => {
      bytes = Buffer.byteLength(readRunFile(run, file));
      appendFileSync(join(run, `${file}.jsonl`), line);
      appendFileSync(join(run, `${file}.jsonl`), '\n');
    });
    await expect(resumeExperiment(path)).rejects.toThrow(`${message} (byte ${bytes})`);
  });
});
