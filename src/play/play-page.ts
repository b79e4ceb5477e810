/** The page of a play. */
import { join } from 'node:path';
import { html } from '../format/html.js';
import { page } from '../report/page/page.js';
import { openLogs, readManifest, runFiles } from '../runs/reader.js';
import { replaceFile } from '../storage/files.js';
import { gamesOf } from './play-games.js';

/** Writes `report.html` of the play at `path`; returns its path. */
export function writePlayPage(path: string): string {
  const file = join(path, runFiles.report);
  const manifest = readManifest(path);
  const games = gamesOf(openLogs(path, true));
  replaceFile(
    file,
    page({
      title: manifest.run,
      header: html`<h1>${manifest.run}</h1>`,
      sections: [],
      footer: html`<p>${games.length}</p>`,
    }),
  );
  return file;
}
