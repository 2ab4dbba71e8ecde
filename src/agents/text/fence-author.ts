import type { Person } from '../../hub/contract/hub'

/**
 * Returns the attributes of a fence for the author of a comment. The hub itself writes no comments but those that
 * show what another service sent, and these must not look like words of the hub.
 */
export const toFenceAuthor = ({
  name,
  kind,
}: Pick<Person, 'name' | 'kind'>): { author: string; kind: string } =>
  kind === 'system' ? { author: 'review', kind: 'outside' } : { author: name, kind }
