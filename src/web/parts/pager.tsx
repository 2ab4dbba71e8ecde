import type { FC, PropsWithChildren } from 'hono/jsx'

/** Link to the next page of a list; nothing on the last page, where `href` is null. */
export const Pager: FC<PropsWithChildren<{ href: string | null }>> = ({ href, children }) =>
  href === null ? null : (
    <p class="pager">
      <a href={href} rel="next">
        {children}
      </a>
    </p>
  )
