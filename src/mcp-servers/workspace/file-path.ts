import { workspaceLimits } from '../../shared/config'

/** Invisible characters: control, format, surrogate and unassigned ones. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u

/**
 * Converts a path within a folder, such as `notes/today.md`, to its canonical form. Unicode is composed
 * (NFC), so that paths that look the same are equal.
 *
 * @returns the path, or its problem, worded to follow "the path"
 */
export function readPath(text: string): { ok: true; path: string } | { ok: false; why: string } {
  const path = text.normalize('NFC')
  const why = findFault(path)
  return why === null ? { ok: true, path } : { ok: false, why }
}

function findFault(path: string): string | null {
  if (path.length > workspaceLimits.pathCharsMax) {
    return `is longer than ${workspaceLimits.pathCharsMax} characters`
  }
  if (!path.isWellFormed() || UNSEEN.test(path)) return 'contains invisible characters'
  if (path.includes('\\')) return 'contains a backslash; folders are separated by /'
  if (path.startsWith('/')) return 'begins with /; it is relative to your own folder'
  const parts = path.split('/')
  if (parts.some((part) => part === '')) return 'has an empty part'
  if (parts.some((part) => part === '.' || part === '..')) return 'has a part . or ..'
  return parts.some((part) => part.trim() !== part) ? 'has a part with spaces at an end' : null
}
