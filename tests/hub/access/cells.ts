import type { World } from './create-world'
import { type Column, columns, type OwnerName } from './requesters'

/** Expected status; `+`: the status of success that the route declares. */
export type Cell = '+' | number

/**
 * Statuses of a row by column, for the thing of an owner. The last three are refused before anything else
 * is looked at (T8, T10). The column `listed` is as `member`, and `runner` as `token`, unless the row says otherwise.
 *
 *     nobody expired token  guest  reader writer  member external moderator other  owner admin  pending disabled banned
 */
const groups = {
  /** Needs no key, on a private hub either. */
  open: '+ + +  +  + +  + + + +  + +  + + +',
  /** What only the browser can finish that started it, whoever is signed in. */
  attempt: '401 401 401  401  401 401  401 401 401 401  401 401  401 401 401',
  /**
   * Reading, on a public hub. A session that has expired reads as nobody does; a wrong key is refused, so
   * that a program notices it; and a key without the read scope reads nothing (H2).
   */
  read: '+ + 401  +  + 403  + + + +  + +  403 403 403',
  /** Reading, on a private hub: a key with the read scope. */
  privateRead: '401 401 401  +  + 403  + + + +  + +  403 403 403',
  /** What only members of a community read; for others it does not exist. */
  hiddenRead: '404 404 401  404  + 403  404 404 404 404  + 404  403 403 403',
  /** The same of a community for members of the hub. */
  membersRead: '404 404 401  404  + 403  + + + +  + +  403 403 403',
  /** Reading what members of the hub read, on a private hub. */
  privateMembersRead: '401 401 401  404  + 403  + + + +  + +  403 403 403',
  /** The caller's own things. */
  own: '401 401 401  +  + 403  + + + +  + +  403 403 403',
  /** Writing as oneself: a key with the write scope (H2). */
  write: '401 401 401  +  403 +  + + + +  + +  403 403 403',
  /** Writing to a public thing of the owner, or as an admin. */
  ownerOrAdminWrite: '401 401 401  403  403 +  403 403 403 403  + +  403 403 403',
  /** Writing to a public thing of the owner: nobody else writes in their name. */
  ownerWrite: '401 401 401  403  403 +  403 403 403 403  + 403  403 403 403',
  /** Reading the owner's form for a public thing. */
  ownerRead: '401 401 401  403  + 403  403 403 403 403  + 403  403 403 403',
  /** What moderators of the community of the owner's thing read and write, and admins. */
  moderator: '401 401 401  403  403 403  403 403 + 403  403 +  403 403 403',
  /** Reading the owner's things, or as an admin; that they exist is public. */
  ownerOrAdminRead: '401 401 401  403  + 403  403 403 403 403  + +  403 403 403',
  /** Reading what only the owner knows of. */
  secretRead: '401 401 401  404  + 403  404 404 404 404  + 404  403 403 403',
  /** Reading what only the owner and admins know of. */
  secretOrAdminRead: '401 401 401  404  + 403  404 404 404 404  + +  403 403 403',
  /** Writing to what only the owner knows of. */
  secretWrite: '401 401 401  404  403 +  404 404 404 404  + 404  403 403 403',
  /** H1, and the rows of hub-api that say admin. */
  admin: '401 401 401  403  403 403  403 403 403 403  403 +  403 403 403',
  /** What admins write into a hub that is being restored; this one is not. */
  restore: '401 401 401  403  403 403  403 403 403 403  403 409  403 403 403',
  /** What only a runner key opens. */
  runnerOnly: '401 401 401  401  401 401  401 401 401 401  401 401  401 401 401',
  /** What nobody finds: this hub has not set it up. */
  unset: '404 404 404  404  404 404  404 404 404 404  404 404  404 404 404',
  /** Tools over MCP: keys and tokens of runs, no sessions. */
  tools: '401 403 +  +  + +  + + + 403  + +  403 403 403',
  /** Repositories over git, without any grant. */
  gitRefs: '403 403 403  403  403 403  403 403 403 403  403 403  403 403 403',
  /** The same where git reads why in an answer of its own, for who has a key. */
  gitBody: '403 403 403  +  + +  + + + 403  + +  403 403 403',
  /** What programs do with a service key, which no column has. */
  serviceOnly: '401 401 401  403  403 403  403 403 403 403  403 403  403 403 403',
}

/** Columns that are as another one, unless a row says otherwise. */
const likes: Partial<Record<Column, Column>> = { listed: 'member', runner: 'token' }

const groupColumns = columns.filter((column) => !(column in likes))

export type Group = keyof typeof groups

/** What a row sends. */
export interface Sent {
  /** Default: the route's path, which then has no parameters. */
  path?: string
  /** Default: none. Pages send it as a form. */
  body?: Record<string, unknown>
  /** In place of a body. */
  image?: Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

export interface Row {
  expect: Group
  /** The group on a private hub, if it is another one than the group implies. */
  privately?: Group
  /** Whose keys the columns owner, reader and writer use. Default: olga. */
  owner?: OwnerName
  /** Cells that differ from the group. */
  except?: Partial<Record<Column, Cell>>
  /** Whether the request ends the session that it is sent with. */
  endsSession?: boolean
  /** Returns a valid request of a column, with things of its own if success uses them up. */
  send?: (world: World, column: Column) => Sent | Promise<Sent>
}

/** Rows by `METHOD /path`; after it, ` (...)` names a second row of the same route. */
export type Table = Record<string, Row>

/** Returns the expected status of a cell. */
export function readCell(row: Row, column: Column, isPublic = true): Cell {
  const implied = row.expect === 'read' ? 'privateRead' : row.expect
  const group = isPublic ? row.expect : (row.privately ?? implied)
  const cells = groups[group].split(/\s+/)
  if (cells.length !== groupColumns.length) throw new Error(`${group} has ${cells.length} cells.`)
  const like = likes[column] ?? column
  const text = cells[groupColumns.indexOf(like)] ?? ''
  return row.except?.[column] ?? row.except?.[like] ?? (text === '+' ? text : Number(text))
}

/** Returns the method and the path of a row's name. */
export function readName(name: string): { method: string; path: string } {
  const [method = '', path = ''] = name.split(' ')
  return { method, path }
}
