import { canaries } from './contents'
import type { World } from './create-world'
import type { Column, OwnerName } from './requesters'

/** A caller, and the canaries that it may see. */
export interface Caller {
  column: Column
  owner: OwnerName
  sees: readonly (keyof typeof canaries)[]
}

/** No canary is public. No direct message is an admin's, nor what a connected account returned, which only piet asked for. */
export const callers: Caller[] = [
  { column: 'nobody', owner: 'olga', sees: [] },
  { column: 'expired', owner: 'olga', sees: [] },
  { column: 'token', owner: 'olga', sees: [] },
  { column: 'guest', owner: 'olga', sees: [] },
  { column: 'member', owner: 'olga', sees: ['atrium'] },
  { column: 'moderator', owner: 'olga', sees: ['atrium'] },
  { column: 'other', owner: 'olga', sees: ['atrium'] },
  { column: 'listed', owner: 'olga', sees: ['cellar', 'atrium'] },
  { column: 'external', owner: 'olga', sees: ['atrium'] },
  { column: 'writer', owner: 'olga', sees: ['dm', 'request', 'cellar', 'atrium'] },
  // olga owns the definitions of scout and wren.
  {
    column: 'owner',
    owner: 'olga',
    sees: ['dm', 'request', 'approval', 'audit', 'trace', 'task', 'cellar', 'atrium'],
  },
  { column: 'owner', owner: 'scout', sees: ['audit', 'trace', 'session', 'cellar', 'atrium'] },
  {
    column: 'admin',
    owner: 'olga',
    sees: ['approval', 'audit', 'trace', 'session', 'task', 'definition', 'atrium'],
  },
]

/**
 * Returns a private text that an answer shows to a caller who may not see it, with its surroundings;
 * null: there is none. Keys are shown to nobody again.
 */
export function findPrivateText(world: World, { sees }: Caller, text: string): string | null {
  const hidden = Object.entries(canaries).filter(([name]) => !sees.some((each) => each === name))
  const found = hidden.find(([, canary]) => text.includes(canary))
  if (found) return `private: ${found[0]} in ${quote(text, found[1])}`
  const key = world.requesters.keys.find((each) => text.includes(each))
  return key === undefined ? null : `a key in ${quote(text, key)}`
}

const quote = (text: string, part: string): string => {
  const at = text.indexOf(part)
  return text.slice(Math.max(0, at - 80), at + 40)
}
