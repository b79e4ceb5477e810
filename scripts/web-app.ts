/** Bundles the web app (`src/web/app`) and its styles into one script and one style sheet; `prepare` runs it. */
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

/** @param folder where `app.js` and `app.css` go */
export function bundle(folder: string): void {
  const common = { bundle: true, minify: true, target: 'es2022', logLevel: 'error' } as const;
  buildSync({ ...common, entryPoints: ['src/web/app/main.ts'], format: 'iife', outfile: `${folder}/app.js` });
  buildSync({ ...common, entryPoints: ['src/web/style/app.css'], outfile: `${folder}/app.css` });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) bundle('dist/web');
