/** The app: in a file, it brings the page's charts, tables and prompts to life; served by `policyloop view`, it is the whole view. */
import { showView } from './app.js';
import { followFile } from './markup/follow.js';
import { activate, openTarget } from './markup/markup.js';

addEventListener('hashchange', openTarget);
if (document.querySelector('main') === null) showView();
else {
  activate(document);
  followFile();
  openTarget();
}
