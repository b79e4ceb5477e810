/** Renders the pages of evaluations from the current files in their directories. */
import { join } from 'node:path';
import { readOwnJson } from '../../src/base/files/files.js';
import { resultFiles } from '../../src/studies/plan.js';
import type { GivenPages } from '../../src/view/pages.js';
import type { Evaluation } from './evaluation.js';
import { evaluationPage } from './page.js';

export const shownPages: GivenPages = {
  evaluation: (path, shown) => {
    const written = readOwnJson(join(path, resultFiles.evaluation)) as Evaluation | undefined;
    return written && evaluationPage(written, shown);
  },
};
