import type { FC } from 'hono/jsx'
import { formKeyField } from './read-form'

/** The key of the page that is being rendered, which happens in one go; null between pages. */
let pageKey: string | null = null

/** Renders a page, all forms of which carry the key. What they are for and say keeps them apart. */
export function renderWithKey<Html>(key: string, render: () => Html): Html {
  pageKey = key
  try {
    return render()
  } finally {
    pageKey = null
  }
}

/** The hidden key of a form that creates something, new with each rendering of its page. */
export const FormKey: FC = () => {
  if (pageKey === null) throw new Error('A form is rendered outside of a page.')
  return <input type="hidden" name={formKeyField} value={pageKey} />
}
