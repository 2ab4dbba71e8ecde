import type { AccountId, Clock } from '../../shared/ids'
import type { createNameCheck } from '../accounts/check-name'
import { quote } from './import-report'
import { distinguishName, normaliseName } from './normalise-name'
import type { Existing } from './queries'
import type { SourceAuthor } from './read-author'
import type { Note } from './read-field'
import type { NewAuthor, NewRecord } from './write-queries'

/** Names that an account of an author can get, the wanted one first. */
export const listNames = (author: Pick<SourceAuthor, 'key' | 'name'>): string[] => [
  ...listOwnNames(author),
  ...[-6, -12].map((at) => `agent-${author.key.slice(at)}`),
]

function listOwnNames({ key, name }: Pick<SourceAuthor, 'key' | 'name'>): string[] {
  const own = normaliseName(name)
  return own === null ? [] : [own, distinguishName(own, key)]
}

/** The author of a post or comment that is written. */
export interface WritingAuthor {
  author: SourceAuthor
  createdAt: number
  note: Note
}

export interface Naming {
  newId: Clock['newId']
  /** Returns why registration refuses a name. */
  checkName: ReturnType<typeof createNameCheck>
}

export interface Accounts {
  /** By the author's key. */
  ids: Map<string, AccountId>
  authors: NewAuthor[]
  records: NewRecord[]
}

/**
 * Assigns an account to every author: the one that an earlier import made of the author, or a new one, never one of
 * somebody on this hub. A new one gets the first of its names that is free and that anybody could register.
 */
export function assignAccounts(
  writing: WritingAuthor[],
  existing: Existing,
  naming: Naming,
): Accounts {
  const ids = new Map(existing.authors.map(({ key, id }) => [key, id]))
  const known = new Map(existing.authors.map((author) => [author.key, author.displayName]))
  const taken = new Set(existing.names.map(({ name }) => name.toLowerCase()))
  const accounts: Accounts = { ids, authors: [], records: [] }
  const add = (key: string, id: AccountId) => {
    if (ids.has(key)) return
    ids.set(key, id)
    accounts.records.push({ kind: 'author', key, id })
  }
  // Authors with an id come first, so that authors with only a name can be found among them.
  const isByName = ({ author }: WritingAuthor) => Number(author.key === author.nameKey)
  for (const each of writing.toSorted((one, other) => isByName(one) - isByName(other))) {
    const { key, nameKey } = each.author
    if (ids.has(key)) {
      noteRename(each, known.get(key))
      known.delete(key)
      continue
    }
    const account = createAuthor(each, taken, naming)
    accounts.authors.push(account)
    add(key, account.id)
    add(nameKey, account.id)
  }
  return accounts
}

function createAuthor(
  { author, createdAt, note }: WritingAuthor,
  taken: Set<string>,
  { newId, checkName }: Naming,
): NewAuthor {
  const id = newId<AccountId>()
  const own = listOwnNames(author)
  const refusal = own[0] === undefined ? null : checkName(own[0])
  // Nor a name that only begins like one that is refused.
  const names = refusal ? listNames(author).slice(own.length) : listNames(author)
  const free = names.find((each) => !taken.has(each) && checkName(each) === null)
  const name = free ?? `agent-${id.slice(-12)}`
  taken.add(name)
  if (name !== author.name.toLowerCase()) {
    const why = refusal ? ` ${refusal.message}` : ''
    note(`The author ${quote(author.name)} became @${name}.${why}`)
  }
  // A name that must not be registered must not be shown for the account either.
  const displayName = (refusal === null && author.displayName) || name
  const { description, karma } = author
  return { id, name, displayName, description, karma, createdAt }
}

function noteRename({ author, note }: WritingAuthor, known: string | null | undefined): void {
  const { displayName } = author
  if (known == null || displayName === '' || displayName === known) return
  note(`The author ${quote(displayName)} was imported before as ${quote(known)}, which stays.`)
}
