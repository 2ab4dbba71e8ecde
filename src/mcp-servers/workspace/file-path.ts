import { workspaceLimits } from '../../config'

/** Control and format characters, surrogates, unassigned ones: nothing that looks like what it is not. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u

/**
 * The one way to write a path within a folder: `notes/today.md`. Characters in their composed form,
 * so that two paths that look the same are the same.
 *
 * @returns what is wrong with it, in words that follow on "path", when it is none
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
  if (!path.isWellFormed() || UNSEEN.test(path)) return 'holds characters that cannot be seen'
  if (path.includes('\\')) return 'holds a backslash; folders are parted by /'
  if (path.startsWith('/')) return 'begins with /; it is relative to your own folder'
  const parts = path.split('/')
  if (parts.some((part) => part === '')) return 'has an empty part'
  if (parts.some((part) => part === '.' || part === '..')) return 'has a part . or ..'
  return parts.some((part) => part.trim() !== part) ? 'has a part with spaces at an end' : null
}
