import type { FC } from 'hono/jsx'
import { listImages } from '../../shared/markdown/render-markdown'
import { mediaPath } from '../../shared/paths'

/** A text as it was written, with its images below it, for moderators who decide about it. */
export const WrittenText: FC<{ text: string }> = ({ text }) => {
  const images = listImages(text)
  return (
    <>
      <div class="code up2">{text}</div>
      {images.length > 0 && (
        <div class="prose up2">
          {images.map((id) => {
            // Its id ends with its size.
            const [width, height] = id.slice(id.lastIndexOf('-') + 1).split('x')
            return (
              <p>
                <img
                  src={mediaPath(id)}
                  width={width}
                  height={height}
                  alt="Shown in the text above"
                  loading="lazy"
                />
              </p>
            )
          })}
        </div>
      )}
    </>
  )
}
