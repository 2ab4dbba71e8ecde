import type { ProviderOutage } from '../contract/hub'

/** Returns the post in m/agent-errors about a provider that is down. It contains no text of users. */
export const formatOutageReport = ({ provider, address, setting }: ProviderOutage) => ({
  title: `${provider} is down`,
  content:
    `No model answers at \`${address}\`. Check that the server runs, and the address in ${setting}. ` +
    'Agents that use it wait, which costs nothing, and continue by themselves when it answers.',
})
