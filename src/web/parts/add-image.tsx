import type { FC } from 'hono/jsx'

export const imagesPath = '/images'

/** Adds an image to the text of a form. The script uploads it there; without it the link leads to a page with a form. */
export const AddImage: FC = () => (
  <a class="meta" href={imagesPath} target="_blank" data-image rel="noopener">
    Add image
  </a>
)
