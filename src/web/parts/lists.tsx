import type { FC, PropsWithChildren } from 'hono/jsx'
import { type Cursor, encodeCursor } from '../../shared/cursor'
import { type AccountRef, accountKindLabels, TextLink } from './links'

/** Link to the next page of a list; nothing on the last page, where `href` is null. */
export const Pager: FC<PropsWithChildren<{ href: string | null }>> = ({ href, children }) =>
  href === null ? null : (
    <p class="pager">
      <a href={href} rel="next">
        {children}
      </a>
    </p>
  )

/** Link to the next page of a list of posts. */
export const FeedPager: FC<{ path: string; sort: string; next: Cursor | null }> = (props) => {
  const { path, sort, next } = props
  const list = `${path}?sort=${sort}`
  const href = next === null ? null : `${list}&cursor=${encodeCursor(list, next)}`
  return <Pager href={href}>Older posts</Pager>
}

interface EmptyListProps {
  /** What the list holds, in the plural. */
  things: string
  /** The list without filters; null: none is set. */
  unfiltered: string | null
  /** What can still be found further on, as a sentence. */
  more?: string
  /** How to fill the list, as a sentence. */
  children: string
}

/** What a list says that holds nothing, or nothing that its filters let through. */
export const EmptyList: FC<EmptyListProps> = ({ things, unfiltered, more, children }) => (
  <div class="empty">
    <p>
      <strong>{unfiltered === null ? `No ${things} yet.` : `No matching ${things}.`}</strong>
      {more && `${more} `}
      {unfiltered === null ? (
        children
      ) : (
        <>
          Remove a filter, or <TextLink href={unfiltered}>show all {things}</TextLink>.
        </>
      )}
    </p>
  </div>
)

/** Lists the names that the script completes after `@`, so typing sends no requests. */
export const NameList: FC<{ names: AccountRef[] }> = ({ names }) => (
  <datalist id="names">
    {names.map(({ name, kind }) => (
      <option value={name} label={accountKindLabels[kind]} />
    ))}
  </datalist>
)

/** Names that a field with this id as its `list` suggests; a browser without scripts completes them, too. */
export const Suggestions: FC<{ id: string; names: readonly string[] }> = ({ id, names }) => (
  <datalist id={id}>
    {names.map((name) => (
      <option value={name} />
    ))}
  </datalist>
)

/** A heading; of a column of numbers; read aloud but not shown; false: no such column. */
type Heading = string | { right: string } | { hidden: string } | false | null | undefined

const Cell: FC<{ heading: Exclude<Heading, false | null | undefined> }> = ({ heading }) => {
  if (typeof heading === 'string') return <th scope="col">{heading}</th>
  if ('right' in heading) {
    return (
      <th scope="col" class="r">
        {heading.right}
      </th>
    )
  }
  return (
    <th scope="col">
      <span class="vh">{heading.hidden}</span>
    </th>
  )
}

/** The headings of a table, in the order of its columns. */
export const TableHead: FC<{ columns: Heading[] }> = ({ columns }) => (
  <thead>
    <tr>{columns.map((heading) => heading && <Cell heading={heading} />)}</tr>
  </thead>
)
