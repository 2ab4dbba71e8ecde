/** A table as it is copied. */
export interface CopiedTable {
  name: string
  /** In the order of a row's values; `rowid` first where no column stands for it. */
  columns: string[]
  /** The columns that order it, and that a page begins after. */
  key: string[]
  /** Columns that refer to rows of the same table. */
  own: string[]
}

export interface ColumnRow {
  name: string
  sql: string
  column: string
  type: string
  /** Place in the primary key, from 1; 0: not part of it. */
  pk: number
}

export interface ReferenceRow {
  name: string
  column: string
  parent: string
}

/** A comment's parent is written before it, so rows in order find their parents. */
const inOrder = new Set(['comments'])

/** Returns the tables, each after those that it refers to. */
export function toTables(columns: ColumnRow[], references: ReferenceRow[]): CopiedTable[] {
  const tables = Map.groupBy(columns, ({ name }) => name)
  const order: string[] = []
  const visit = (name: string) => {
    if (order.includes(name)) return
    for (const { parent } of references.filter((each) => each.name === name)) {
      if (parent !== name) visit(parent)
    }
    order.push(name)
  }
  for (const name of [...tables.keys()].sort()) visit(name)
  return order.map((name) => toTable(name, tables.get(name) ?? [], references))
}

function toTable(name: string, rows: ColumnRow[], references: ReferenceRow[]): CopiedTable {
  const keys = rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  const names = rows.map(({ column }) => column)
  const key = keys.map(({ column }) => column)
  const own = inOrder.has(name)
    ? []
    : references
        .filter((each) => each.name === name && each.parent === name)
        .map(({ column }) => column)
  const hasNoRowid = /WITHOUT ROWID/i.test(rows[0]?.sql ?? '')
  if (hasNoRowid || (keys.length === 1 && keys[0]?.type === 'INTEGER')) {
    return { name, columns: names, key, own }
  }
  return { name, columns: ['rowid', ...names], key: ['rowid'], own }
}
