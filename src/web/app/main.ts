/** The app. In a saved page, it draws charts, sorts tables and shows prompts; in `policyloop view`, it draws everything. */
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
