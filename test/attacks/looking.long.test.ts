/** Inspecting a run executes nothing: its modules aren't imported, and links out of the runs directory aren't followed. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { evaluateRun } from '../../src/experiment/afterwards/evaluate-run.js';
import { readManifest } from '../../src/runs/reader.js';
import { played } from '../agents/playing.js';
import { quick, recordingContext, runExperimentFrom, temporaryDirectory } from '../support/experiments.js';
import { openLooks } from './looks.js';

const secret = 'what-nobody-may-see-7261';
let cwd: string;
let modules: string;
let outside: string;
const marker = () => join(cwd, 'marker');

interface Planted extends Record<string, unknown> {
  evaluation?: Record<string, unknown>;
  prompts?: Record<string, unknown>;
}

/** A working module that leaves a mark when it is imported. */
function plant(name: string, body: string): string {
  const file = join(modules, `${name}.mjs`);
  const mark = `import { appendFileSync } from 'node:fs';\nappendFileSync(${JSON.stringify(marker())}, '${name} ');\n`;
  writeFileSync(file, `${mark}export default { name: '${name}', create() { ${body} } };\n`);
  return file;
}

const space = '{ kind: "box", low: [-1, -1], high: [1, 1] }';
const environmentBody = `return { id: 'mine', observationSpace: ${space}, actionSpace: { kind: 'discrete', n: 2 }, reset: () => [0, 0], step: () => ({ observation: [0, 0], reward: 1, terminated: false, truncated: false }) };`;
const policyBody = `return { parameters: { count: 3, low: -1, high: 1, decimals: 1, names: ['left', 'right', 'third'] }, description: 'Three numbers, as planted', build: () => () => 0 };`;

beforeAll(async () => {
  cwd = temporaryDirectory();
  outside = temporaryDirectory();
  modules = join(outside, 'modules');
  mkdirSync(modules);
  const paths = {
    environment: plant('environment', environmentBody),
    policy: plant('policy', policyBody),
    reward: plant('reward', 'return { reward: () => 1 };'),
    helpers: plant('helpers', 'return {};'),
    model: plant('model', `return { async generate() { throw new Error('no'); } };`),
  };
  const runs = join(cwd, 'buffers');
  await runExperimentFrom({ ...quick, model: { provider: 'random' } }, { path: join(runs, 'plain') });
  await runExperimentFrom(
    {
      ...quick,
      environment: { id: paths.environment },
      policy: { kind: 'module', path: paths.policy },
      model: { provider: 'random' },
      confirmation: { candidates: 1, episodes: 2 },
    },
    { path: join(runs, 'own') },
  );
  await played('text:cooking', ['games=1', 'policy.player=random'], undefined, {
    path: join(runs, 'play'),
  }).catch(async () => undefined);
  rmSync(marker(), { force: true });
  // Node imports a file once: these are new to it.
  const fresh = join(outside, 'fresh');
  cpSync(modules, fresh, { recursive: true });
  const config = join(runs, 'own', 'config.yaml');
  writeFileSync(config, readFileSync(config, 'utf8').replaceAll(modules, fresh));
  plantedRuns(
    Object.fromEntries(Object.entries(paths).map(([kind, file]) => [kind, file.replace(modules, fresh)])),
  );
  writeFileSync(join(outside, 'secret.txt'), `${secret}\n`);
  writeFileSync(join(outside, 'secret.jsonl'), `${JSON.stringify({ kind: secret, iteration: 0 })}\n`);
}, 60_000);

/** Copies of a run whose config and manifest name modules and links, each in one place. */
function plantedRuns(paths: Readonly<Record<string, string>>): void {
  const names = (value: string) => [
    value,
    relative(process.cwd(), value),
    `./${relative(process.cwd(), value)}`,
  ];
  let n = 0;
  const planted = (change: (config: Planted, manifest: Planted) => void) => {
    const run = join(cwd, 'buffers', `planted-${n++}`);
    cpSync(join(cwd, 'buffers', 'plain'), run, { recursive: true });
    const config = parse(readFileSync(join(run, 'config.yaml'), 'utf8')) as Record<string, unknown>;
    const manifest = JSON.parse(readFileSync(join(run, 'manifest.json'), 'utf8')) as Record<string, unknown>;
    change(config, manifest);
    writeFileSync(join(run, 'config.yaml'), stringify(config));
    writeFileSync(join(run, 'manifest.json'), JSON.stringify(manifest));
  };
  for (const path of names(paths.environment!)) {
    planted((config) => {
      config.environment = { id: path };
    });
    planted((config, manifest) => {
      config.environment = { id: path };
      manifest.environment = path;
    });
  }
  for (const path of names(paths.policy!))
    planted((config) => {
      config.policy = { kind: 'module', path };
    });
  for (const path of names(paths.reward!))
    planted((config) => {
      config.evaluation = { ...config.evaluation, reward: path };
    });
  for (const path of names(paths.helpers!))
    planted((config) => {
      config.prompts = { ...config.prompts, helpers: path };
    });
  for (const path of names(paths.model!))
    planted((config) => {
      config.model = { provider: 'module', path };
    });
  for (const id of [`textworld:${join(outside, 'secret.txt')}`, 'gymnasium:modules:Evil-v0', 'custom:mine'])
    planted((config) => {
      config.environment = { id };
    });
  planted((config) => {
    config.prompts = { ...config.prompts, set: join(outside, 'modules') };
  });
  planted((config, manifest) => {
    config.policy = { kind: 'module', path: paths.policy };
    config.environment = { id: paths.environment };
    delete manifest.best;
  });
}

describe('inspecting untrusted runs', { timeout: 300_000 }, () => {
  it('imports no module that a run names', async () => {
    const names = readdirSync(join(cwd, 'buffers')).filter((name) => name !== 'plain');
    expect(names.length).toBeGreaterThan(20);
    const { close, looksAt } = await openLooks(cwd);
    for (const { look, name } of looksAt(names)) {
      const { text } = await look();
      expect([name, existsSync(marker())]).toEqual([name, false]);
      expect([name, text.includes(secret)]).toEqual([name, false]);
    }
    await close();
  });

  it('shows module policies as the run recorded them', async () => {
    expect(readManifest(join(cwd, 'buffers', 'own')).policy).toMatchObject({ parameters: { count: 3 } });
    const { close, looksAt } = await openLooks(cwd);
    const look = async (wanted: RegExp) =>
      (
        await looksAt(['own'])
          .find(({ name }) => wanted.test(name))!
          .look()
      ).text;
    expect(await look(/^show .*"json":true/)).toMatch(/"parameters":\[-?[\d.]+,-?[\d.]+,-?[\d.]+\]/);
    expect(await look(/^MCP show_run/)).toContain('"status":"completed"');
    expect(await look(/api\/page\?of=own$/)).toContain('Three numbers, as planted');
    // A damaged manifest records neither.
    const old = join(cwd, 'buffers', 'own', 'manifest.json');
    const text = readFileSync(old, 'utf8');
    const { policy: _, spec: __, ...manifest } = JSON.parse(text) as Record<string, unknown>;
    writeFileSync(old, JSON.stringify(manifest));
    expect(await look(/^show .*"json":false/)).toMatch(
      /warning: this run doesn't record what its policies are/,
    );
    expect(await look(/api\/page\?of=own$/)).toMatch(/^200 .*record what its policies are/);
    writeFileSync(old, text);
    await close();
    expect(existsSync(marker())).toBe(false);
  });

  it('differs from `evaluate`, which imports the policy module of a run', async () => {
    const { context } = recordingContext(cwd);
    await evaluateRun({ run: 'own', runsDir: 'buffers', episodes: 1, workers: 1 }, context);
    expect(readFileSync(marker(), 'utf8')).toContain('policy');
    rmSync(marker());
  });

  it('follows no symbolic link that replaces a file of a run', async () => {
    const { close, looksAt } = await openLooks(cwd);
    const run = join(cwd, 'buffers', 'linked');
    const plain = join(cwd, 'buffers', 'plain');
    for (const file of [...readdirSync(plain), 'labels.json', 'report.html.new']) {
      rmSync(run, { recursive: true, force: true });
      cpSync(plain, run, { recursive: true });
      rmSync(join(run, file), { recursive: true, force: true });
      symlinkSync(join(outside, 'secret.jsonl'), join(run, file));
      for (const { look, name } of looksAt(['linked'])) {
        if (!/^(?:show|report|compare|MCP show|view .*(?:page|course|search))/.test(name)) continue;
        const { text } = await look();
        expect([file, name, text.includes(secret)]).toEqual([file, name, false]);
      }
    }
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe(`${secret}\n`);
    rmSync(run, { recursive: true });
    await close();
  });

  it('follows no symbolic link to a run or a directory of runs', async () => {
    const hidden = join(outside, secret);
    cpSync(join(cwd, 'buffers', 'plain'), join(hidden, 'inner'), { recursive: true });
    const group = join(cwd, 'buffers', 'group');
    cpSync(join(cwd, 'buffers', 'plain'), join(group, 'repeat-1'), { recursive: true });
    writeFileSync(join(group, 'plan.json'), '{"version":1,"kind":"sweep"}');
    const away = join(hidden, 'inner', 'manifest.json');
    const changed = { ...JSON.parse(readFileSync(away, 'utf8')), model: secret };
    writeFileSync(away, JSON.stringify(changed));
    symlinkSync(join(hidden, 'inner'), join(group, 'repeat-2'));
    symlinkSync(hidden, join(cwd, 'buffers', 'away'));
    symlinkSync(join(hidden, 'inner'), join(cwd, 'buffers', 'direct'));
    const { close, looksAt } = await openLooks(cwd);
    const wanted = ['group', 'group/repeat-2', 'away', 'away/inner', 'direct', 'dir*', '*/inner', '**/inner'];
    for (const { look, name } of looksAt(wanted)) {
      const { error, text } = await look();
      // The error of a command names the place, so that its user can name it.
      const told = text.replaceAll(hidden, '').replaceAll(`view ${name}`, '');
      expect([name, told.includes(secret), error instanceof TypeError]).toEqual([name, false, false]);
    }
    await close();
    for (const name of ['away', 'direct', 'group']) rmSync(join(cwd, 'buffers', name), { recursive: true });
    expect(statSync(away).isFile()).toBe(true);
  });
});
