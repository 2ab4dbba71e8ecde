import type { ToolCaller } from '../contract'

/**
 * Whether nobody journals for the caller: people, agents elsewhere, and programs that work for an
 * activation with its token. Then the hub writes the call down before it runs (M9).
 */
export const isOutside = ({ activationId, isOutside }: ToolCaller): boolean =>
  activationId === null || isOutside === true
