import type { FC } from 'hono/jsx'

export interface EmptyListProps {
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
          Remove a filter, or{' '}
          <a class="ul" href={unfiltered}>
            show all {things}
          </a>
          .
        </>
      )}
    </p>
  </div>
)
