/** The app. It makes saved pages interactive (charts, tables, prompts), and draws all pages of `policyloop view`. */
import { showView } from './app.js';
import { activate, openTarget } from './markup/markup.js';

addEventListener('hashchange', openTarget);
if (document.querySelector('main') === null) showView();
else {
  activate(document);
  openTarget();
}
