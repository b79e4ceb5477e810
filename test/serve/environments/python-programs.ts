/**
 * Programs in Python that play our environments. POLICYLOOP_PYTHON names the interpreter (default: python3); where it lacks
 * a package, their tests are skipped.
 */
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { readBlocks } from '../../docs/blocks.js';

export const python = process.env.POLICYLOOP_PYTHON ?? 'python3';

export const hasPackages = (...names: readonly string[]): boolean =>
  spawnSync(python, ['-c', `import ${names.join(', ')}`]).status === 0;

/** What a script prints. */
export async function said(args: readonly string[], input: unknown, cwd?: string): Promise<string> {
  const child = spawn(python, args, { ...(cwd !== undefined && { cwd }) });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (text: Buffer) => (output += String(text)));
  child.stderr.on('data', (text: Buffer) => (errors += String(text)));
  child.stdin.end(JSON.stringify(input));
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(errors);
  return output;
}

/** Writes the class that the documents give to TRL, for a server of this address. */
export function writeCookingClass(directory: string, url: string): void {
  const { code } = readBlocks('docs/environment-server.md').find(({ file }) => file === 'cooking.py')!;
  const ours = code.replace('http://127.0.0.1:8000', url);
  if (ours === code) throw new Error('the class has another address');
  writeFileSync(join(directory, 'cooking.py'), ours);
}

/** The way to win a game of cooking, and what it shows. */
export async function gold(seed: number) {
  const environment = await makeEnvironment('text:cooking');
  const texts = [environment.reset(seed)];
  const actions = environment.gold!()!;
  const steps = actions.map((action) => environment.step(action));
  texts.push(...steps.map(({ observation }) => observation));
  return { seed, actions, texts, score: steps.reduce((sum, { reward }) => sum + reward, 0) };
}
