/**
 * The package installs where only the npm registry answers, though onnxruntime-node's own script fetches from elsewhere.
 * npm installs a small stand-in of each package from a registry on this machine; the script is onnxruntime-node's own.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { listening } from '../support/fake-server.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const root = resolve(import.meta.dirname, '../..');
const place = temporaryDirectory();
const runtime = join(root, 'node_modules', 'onnxruntime-node');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

const tarballs = new Map<string, { readonly manifest: Manifest; readonly file: string }>();

/** Offers a package of these files. */
function offer(manifest: Manifest, files: Readonly<Record<string, string>>): void {
  const folder = join(place, 'offered', `${manifest.name}-${manifest.version}`);
  for (const [name, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) })) {
    mkdirSync(dirname(join(folder, 'package', name)), { recursive: true });
    writeFileSync(join(folder, 'package', name), text);
  }
  const file = `${folder}.tgz`;
  execFileSync('tar', ['-czf', file, '-C', folder, 'package']);
  tarballs.set(manifest.name, { manifest, file });
}

let registry = '';

beforeAll(async () => {
  const { version, optionalDependencies = {}, scripts, allowScripts, files } = manifestOf(root);
  expect(optionalDependencies).toHaveProperty('onnxruntime-node');
  expect(files).toContain('scripts/spare-cuda.mjs');
  const own = { version, bin: { policyloop: 'cli.js' }, files: ['cli.js', 'scripts'], allowScripts };
  const sources = {
    'cli.js': "#!/usr/bin/env node\nconsole.log(require.resolve('onnxruntime-node/package.json'));\n",
    'scripts/spare-cuda.mjs': readFileSync(join(root, 'scripts/spare-cuda.mjs'), 'utf8'),
  };
  const { preinstall } = scripts!;
  offer({ ...own, name: 'policyloop', optionalDependencies, scripts: { preinstall: preinstall! } }, sources);
  offer({ ...own, name: 'without-preinstall', dependencies: optionalDependencies }, sources);
  offer({ ...own, name: 'optional-only', optionalDependencies }, sources);
  const { devDependencies: _, ...published } = manifestOf(runtime);
  const dependencies = { 'adm-zip': '1.0.0', 'global-agent': '1.0.0' };
  const binding = { 'bin/napi-v6/linux/x64/onnxruntime_binding.node': '' };
  offer({ ...published, dependencies }, { ...scriptsOf(runtime), ...binding });
  offer({ name: 'adm-zip', version: '1.0.0' }, { 'index.js': '' });
  offer({ name: 'global-agent', version: '1.0.0' }, { 'index.js': 'exports.bootstrap = () => {};' });
  // As on a machine where nothing but the registry answers.
  writeFileSync(
    join(place, 'block.cjs'),
    [
      "const https = require('node:https');",
      "https.get = (url) => { throw new Error('no route to ' + url); };",
      'https.request = https.get;',
    ].join('\n'),
  );
  ({ url: registry } = await listening((request, response) => {
    const name = decodeURIComponent(request.url!.slice(1)).replace(/\.tgz$/, '');
    const found = tarballs.get(name);
    if (found === undefined) return response.writeHead(404).end('{}');
    if (request.url!.endsWith('.tgz')) return response.end(readFileSync(found.file));
    const { manifest } = found;
    const dist = { tarball: `${registry}/${name}.tgz` };
    const versions = { [manifest.version]: { ...manifest, dist, hasInstallScript: true } };
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ name, 'dist-tags': { latest: manifest.version }, versions }));
  }));
});

function scriptsOf(folder: string): Record<string, string> {
  const names = ['install.js', 'install-utils.js', 'install-metadata.js', 'install-metadata-versions.js'];
  return Object.fromEntries(
    names.map((name) => [`script/${name}`, readFileSync(join(folder, 'script', name), 'utf8')]),
  );
}

/** Runs npm in a new folder, with this registry and none of the user's settings. */
function npm(...args: readonly string[]) {
  const cwd = join(temporaryDirectory());
  writeFileSync(join(cwd, 'package.json'), '{"private": true}');
  return new Promise<{ cwd: string; status: number | null; output: string }>((done) => {
    const child = spawn('npm', args, {
      cwd,
      env: {
        PATH: process.env.PATH,
        HOME: cwd,
        npm_config_cache: join(place, 'cache'),
        npm_config_userconfig: join(cwd, 'npmrc'),
        npm_config_registry: registry,
        npm_config_audit: 'false',
        npm_config_fund: 'false',
        npm_config_update_notifier: 'false',
        // From version 12 on, npm runs no script unless it is told to: then there is nothing to guard against.
        npm_config_dangerously_allow_all_scripts: 'true',
        NODE_OPTIONS: `--require ${join(place, 'block.cjs')}`,
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.on('close', (status) => done({ cwd, status, output }));
  });
}

const isLinux64 = process.platform === 'linux' && process.arch === 'x64';

describe('npm install policyloop with only the registry reachable', () => {
  it('installs the package with its runtime', async () => {
    const { cwd, status, output } = await npm('install', 'policyloop');
    expect(output).not.toContain('error');
    expect(status).toBe(0);
    expect(existsSync(join(cwd, 'node_modules/onnxruntime-node/package.json'))).toBe(true);
    const again = await npm('exec', '--yes', '--', 'policyloop');
    expect(again.output).toContain(join('onnxruntime-node', 'package.json'));
  });

  it('installs the package globally', async () => {
    const { cwd, status } = await npm('install', '--global', '--prefix', '.', 'policyloop');
    expect(status).toBe(0);
    const installed = join(cwd, 'lib/node_modules/policyloop/node_modules/onnxruntime-node');
    if (process.platform !== 'win32') expect(existsSync(installed)).toBe(true);
  });

  it.runIf(isLinux64)(
    'fails without the preinstall script, and drops a runtime that is only optional',
    async () => {
      const failed = await npm('install', 'without-preinstall');
      expect(failed.output).toContain('no route to https://api.nuget.org');
      expect(failed.status).not.toBe(0);
      const dropped = await npm('install', 'optional-only');
      expect(dropped.status).toBe(0);
      expect(existsSync(join(dropped.cwd, 'node_modules/onnxruntime-node'))).toBe(false);
    },
  );
});

describe('scripts/spare-cuda.mjs', () => {
  it.runIf(isLinux64)(
    'keeps existing libraries, and does not prevent a later download of the missing ones',
    async () => {
      const { cwd } = await npm('install', '--ignore-scripts', 'policyloop');
      const libraries = join(cwd, 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64');
      mkdirSync(libraries, { recursive: true });
      writeFileSync(join(libraries, 'libonnxruntime_providers_cuda.so'), 'real');
      const script = join(cwd, 'node_modules/policyloop/scripts/spare-cuda.mjs');
      expect(spawnSync(process.execPath, [script]).status).toBe(0);
      expect(readFileSync(join(libraries, 'libonnxruntime_providers_cuda.so'), 'utf8')).toBe('real');
      expect(statSync(join(libraries, 'libonnxruntime_providers_shared.so')).size).toBe(0);
      const install = spawnSync(process.execPath, ['script/install.js'], {
        cwd: join(cwd, 'node_modules/onnxruntime-node'),
        env: { ONNXRUNTIME_NODE_INSTALL: '1', NODE_OPTIONS: `--require ${join(place, 'block.cjs')}` },
        encoding: 'utf8',
      });
      expect(install.stderr).toContain('no route to https://api.nuget.org');
    },
  );

  it('succeeds if the runtime is not installed', () => {
    const script = join(temporaryDirectory(), 'spare-cuda.mjs');
    writeFileSync(script, readFileSync(join(root, 'scripts/spare-cuda.mjs')));
    expect(spawnSync(process.execPath, [script]).status).toBe(0);
  });
});

describe('requireRuntime', () => {
  it('says what to do if the runtime is not installed', () => {
    expect(() => requireRuntime()).not.toThrow();
    const missing = () => {
      throw new Error('Cannot find module');
    };
    expect(() => requireRuntime(missing)).toThrow(
      /^onnxruntime-node, the runtime for local models, was not installed[\s\S]*npm install --ignore-scripts policyloop/,
    );
  });
});
