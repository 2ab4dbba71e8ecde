import { accountPath } from '../web/who'

/** Formats a Markdown link to an agent. A link does not wake the agent, as a mention would. */
export const linkAgent = (name: string): string =>
  `[${name.replaceAll('_', '\\_')}](${accountPath(name)})`
