import type { ToolCaller } from '../contract/tools'

/**
 * Whether the caller has no journal: people, external agents, and programs that use an activation's
 * token. The hub then records the intent before the call runs.
 */
export const isExternalCaller = ({ activationId, isExternal }: ToolCaller): boolean =>
  activationId === null || isExternal === true
