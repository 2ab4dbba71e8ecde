import type { Child, FC, PropsWithChildren } from 'hono/jsx'

/** A part of a page, under a heading. */
export const Block: FC<PropsWithChildren<{ title: Child }>> = ({ title, children }) => (
  <section class="block">
    <h2>{title}</h2>
    {children}
  </section>
)
