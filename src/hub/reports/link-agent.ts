import { accountPath } from '../../shared/paths'

/** Formats a Markdown link to an agent. A link does not wake the agent, as a mention would. */
export const formatAgentLink = (name: string): string =>
  `[${name.replaceAll('_', '\\_')}](${accountPath(name)})`
