import { accountPath } from '../web/who'

/** Names an agent in a post without calling it: a link, no mention. */
export const linkAgent = (name: string): string =>
  `[${name.replaceAll('_', '\\_')}](${accountPath(name)})`
