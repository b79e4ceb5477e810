/** Runs checks of one client and prints a JSON line for each: {"check", "error"}. */
import { readFileSync } from 'node:fs';

export const [url, model] = process.argv.slice(2);

export function client(name) {
  const file = new URL(`node_modules/${name}/package.json`, `file://${process.cwd()}/`);
  print({ version: JSON.parse(readFileSync(file, 'utf8')).version });
}

export async function check(name, work) {
  let error = null;
  try {
    await work();
  } catch (caught) {
    process.stderr.write(`${caught?.stack ?? caught}\n`);
    error = String(caught).replaceAll(/\s+/g, ' ').slice(0, 300);
  }
  print({ check: name, error });
}

const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
