/**
 * Installs the package as users do, in a network namespace where only a registry on this machine is reachable (Linux,
 * with `unshare` and `ip`): `npm ci` in a checkout, then `npm install`, `--global`, `npx`, and without the runtime.
 * The registry serves the packages of package-lock.json from npm's cache.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const say = (text) => process.stdout.write(`${text}\n`);
const modules = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim();
const cacache = createRequire(join(modules, 'npm/package.json'))('cacache');

if (process.argv[2] === 'inside') await check(process.argv[3]);
else {
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  const command = 'ip link set lo up && exec "$0" "$@"';
  const inside = [process.execPath, import.meta.filename, 'inside', cache];
  const { status } = spawnSync('unshare', ['-rn', 'sh', '-c', command, ...inside], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

async function check(cache) {
  const place = mkdtempSync(join(tmpdir(), 'policyloop-install-'));
  try {
    const offered = offers();
    const server = createServer((request, response) => answer(request, response, offered, cache));
    await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
    offered.registry = `http://127.0.0.1:${server.address().port}`;
    const npm = (folder, ...args) => run(place, folder, offered.registry, 'npm', args);

    mkdirSync(join(place, 'checkout'));
    execFileSync(
      'sh',
      [
        '-c',
        `git ls-files -co --exclude-standard -z | tar --null -T - -cf - | tar -xf - -C "$0"`,
        join(place, 'checkout'),
      ],
      { cwd: root },
    );
    await npm('checkout', 'ci', '--registry', offered.registry);
    await run(place, 'checkout', offered.registry, process.execPath, [
      'dist/src/cli.js',
      'run',
      'quickstart',
      '--quiet',
    ]);
    say('npm ci in a checkout: its quickstart runs');

    const [{ filename }] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', place], {
        cwd: join(place, 'checkout'),
        encoding: 'utf8',
      }),
    );
    offered.own(join(place, filename));
    for (const [title, args, cli] of [
      ['npm install', ['install', 'policyloop'], 'node_modules/.bin/policyloop'],
      ['npm install --global', ['install', '--global', '--prefix', '.', 'policyloop'], 'bin/policyloop'],
    ]) {
      const folder = title.replaceAll(/\W+/g, '-');
      await npm(folder, ...args);
      await run(place, folder, offered.registry, join(place, folder, cli), ['run', 'quickstart', '--quiet']);
      say(`${title} policyloop: its quickstart runs`);
    }
    await npm('npx', 'exec', '--yes', '--', 'policyloop', 'run', 'quickstart', '--quiet');
    say('npx policyloop: its quickstart runs');

    await npm('without', 'install', '--omit=optional', 'policyloop');
    const cli = join(place, 'without/node_modules/.bin/policyloop');
    await run(place, 'without', offered.registry, cli, [
      'run',
      'quickstart',
      'model={provider: random}',
      'iterations=3',
      '--quiet',
    ]);
    const refused = await run(place, 'without', offered.registry, cli, ['run', 'quickstart'], 2);
    if (!refused.includes('onnxruntime-node, the runtime for local models, was not installed'))
      throw new Error(refused);
    say(`without the runtime: baselines run, and local models fail with this message:\n${refused.trim()}`);
    server.close();
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** The packages of the lock file by name, in the form that a registry returns. */
function offers() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const found = {};
  for (const [path, entry] of Object.entries(packages)) {
    if (path === '') continue;
    const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    found[name] ??= {};
    found[name][entry.version] = entry;
  }
  return {
    found,
    own(file) {
      const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      found.policyloop = { [manifest.version]: { ...manifest, hasInstallScript: true, file } };
    },
  };
}

async function answer(request, response, { found, registry }, cache) {
  try {
    const [path, version] = decodeURIComponent(request.url.slice(1)).split('/-/');
    if (version !== undefined) {
      const name = path;
      const wanted = version.replace(/\.tgz$/, '').slice(name.slice(name.lastIndexOf('/') + 1).length + 1);
      const { file, integrity } = found[name][wanted];
      return response.end(
        file ? readFileSync(file) : await cacache.get.byDigest(join(cache, '_cacache'), integrity),
      );
    }
    const versions = Object.fromEntries(
      Object.entries(found[path]).map(([number, { integrity, file, ...entry }]) => {
        const tarball = `${registry}/${path}/-/${path.slice(path.lastIndexOf('/') + 1)}-${number}.tgz`;
        return [
          number,
          { ...entry, name: path, version: number, dist: { tarball, ...(integrity && { integrity }) } },
        ];
      }),
    );
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({ name: path, 'dist-tags': { latest: Object.keys(versions).at(-1) }, versions }),
    );
  } catch (error) {
    response.writeHead(404).end(JSON.stringify({ error: String(error) }));
  }
}

/** @returns the output; throws if the exit code isn't `expected` */
function run(place, folder, registry, command, args, expected = 0) {
  const cwd = join(place, folder);
  if (!existsSync(cwd)) {
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'package.json'), '{"private": true}');
  }
  const env = {
    PATH: process.env.PATH,
    HOME: place,
    npm_config_cache: join(place, 'cache'),
    npm_config_registry: registry,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
  const child = spawn(command, args, { cwd, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk;
    });
  return new Promise((done, failed) =>
    child.on('close', (status) =>
      status === expected
        ? done(output)
        : failed(new Error(`${command} ${args.join(' ')}: ${status}\n${output}`)),
    ),
  );
}
