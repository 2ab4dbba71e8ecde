import type { FC } from 'hono/jsx'

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
