/* Plots as inline SVG. Coordinates are stretched to the width of the window, so texts stand beside
 * the SVG as HTML, and lines keep their width (vector-effect in the style sheet). */
#include "html.h"

#include <math.h>

enum { WIDTH = 1000, HEIGHT = 200, MAX_BARS = 128 };

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* ---- histogram ---- */

typedef struct bars {
    double heights[MAX_BARS]; /* 0 to 1 */
    size_t num;
} bars;

/* Groups of neighbouring bins where there are more than bars. Heights are square roots of counts:
 * one bin at zero would flatten all others. */
static bars make_bars(const html_histogram *plot)
{
    size_t group = plot->num > 0 ? (plot->num - 1) / MAX_BARS + 1 : 1;
    bars b = {.num = (plot->num + group - 1) / group};
    double most = 0;
    for (size_t i = 0; i < plot->num; i++)
        b.heights[i / group] += plot->counts[i];
    for (size_t i = 0; i < b.num; i++)
        most = b.heights[i] > most ? b.heights[i] : most;
    for (size_t i = 0; i < b.num; i++)
        b.heights[i] = most > 0 ? sqrt(b.heights[i] / most) : 0;
    return b;
}

static bool is_kept(const html_histogram *plot, const bars *b, size_t bar)
{
    double middle = plot->first + (plot->last - plot->first) * ((double)bar + 0.5) / (double)b->num;
    return !(plot->low < plot->high) || (middle >= plot->low && middle <= plot->high);
}

static void put_bars(html *page, const html_histogram *plot, const bars *b, bool kept)
{
    double width = (double)WIDTH / (double)b->num;
    html_write(page, "<path class=\"bars %s\" d=\"", kept ? "kept" : "cut");
    for (size_t i = 0; i < b->num; i++)
        if (b->heights[i] > 0 && is_kept(plot, b, i) == kept)
            html_write(page, "M%.5g %dh%.4gV%.4gh-%.4gz", (double)i * width, HEIGHT, width * 0.9,
                       HEIGHT - fmax(b->heights[i] * HEIGHT, 2), width * 0.9);
    html_write(page, "\"/>");
}

static void put_limit(html *page, const html_histogram *plot, double value)
{
    double x = WIDTH * (value - plot->first) / (plot->last - plot->first);
    if (x > 0 && x < WIDTH)
        html_write(page, "<path class=limit d=\"M%.5g 0V%d\"/>", x, HEIGHT);
}

static void put_svg_begin(html *page)
{
    html_write(page, "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=none aria-hidden=true>", WIDTH,
               HEIGHT);
}

void html_plot_histogram(html *page, const html_histogram *plot)
{
    bars b = make_bars(plot);
    html_write(page, "<figure class=\"hist%s\">", plot->is_small ? " small" : "");
    if (plot->title)
        html_write(page, "<figcaption>%s</figcaption>", plot->title);
    put_svg_begin(page);
    put_bars(page, plot, &b, true);
    put_bars(page, plot, &b, false);
    if (plot->low < plot->high && plot->first < plot->last) {
        put_limit(page, plot, plot->low);
        put_limit(page, plot, plot->high);
    }
    html_write(page, "</svg>");
    if (!plot->is_small)
        html_write(page, "<div class=x><span>%.4g</span><span>%.4g</span></div>", plot->first,
                   plot->last);
    html_write(page, "</figure>\n");
}

/* ---- line ---- */

typedef struct scale {
    double low, high;
    bool is_logarithmic;
} scale;

static bool is_drawn(const html_line *plot, double value)
{
    return isfinite(value) && (!plot->is_logarithmic || value > 0);
}

static void widen(scale *s, const html_line *plot, double value)
{
    if (!is_drawn(plot, value))
        return;
    s->low = value < s->low ? value : s->low;
    s->high = value > s->high ? value : s->high;
}

static scale make_scale(const html_line *plot)
{
    scale s = {INFINITY, -INFINITY, plot->is_logarithmic};
    for (size_t i = 0; i < plot->num; i++)
        widen(&s, plot, plot->values[i]);
    widen(&s, plot, plot->threshold);
    if (!(s.low <= s.high))
        s.low = s.high = s.is_logarithmic ? 1 : 0;
    if (!s.is_logarithmic && s.low > 0 && s.low < s.high / 2)
        s.low = 0;
    if (!s.is_logarithmic && s.low == s.high)
        s.high = s.low + 1;
    if (s.is_logarithmic && s.low == s.high)
        s.low /= 10;
    return s;
}

/* Zero and less have no logarithm: they stand at the bottom. */
static double y_of(const scale *s, double value)
{
    double share = s->is_logarithmic ? (value > 0 ? log(value / s->low) / log(s->high / s->low) : 0)
                                     : (value - s->low) / (s->high - s->low);
    return HEIGHT - 8 - clamp(share, 0, 1) * (HEIGHT - 16);
}

static double x_of(const html_line *plot, size_t i)
{
    return plot->num > 1 ? 8 + (WIDTH - 16) * (double)i / (double)(plot->num - 1) : WIDTH / 2.0;
}

static bool is_bad(const html_line *plot, double value)
{
    return plot->lower_is_bad ? value < plot->threshold : value > plot->threshold;
}

static void put_curve(html *page, const html_line *plot, const scale *s)
{
    bool is_pen_down = false;
    html_write(page, "<path class=curve d=\"");
    for (size_t i = 0; i < plot->num; i++) {
        if (!isnan(plot->values[i]))
            html_write(page, "%s%.5g %.4g", is_pen_down ? "L" : "M", x_of(plot, i),
                       y_of(s, plot->values[i]));
        is_pen_down = !isnan(plot->values[i]);
    }
    html_write(page, "\"/>");
}

static void put_points(html *page, const html_line *plot, const scale *s)
{
    for (size_t i = 0; i < plot->num; i++) {
        double value = plot->values[i];
        if (isnan(value))
            continue;
        html_write(page,
                   "<path class=\"point%s\" d=\"M%.5g %.4gh0\"><title>%s: %.4g%s%s</title></path>",
                   is_bad(plot, value) ? " bad" : "", x_of(plot, i), y_of(s, value), plot->names[i],
                   value, plot->unit ? " " : "", plot->unit ? plot->unit : "");
    }
}

static void put_threshold(html *page, const html_line *plot, const scale *s)
{
    if (is_drawn(plot, plot->threshold))
        html_write(page, "<path class=limit d=\"M0 %.4gH%d\"/>", y_of(s, plot->threshold), WIDTH);
}

void html_plot_line(html *page, const html_line *plot)
{
    scale s = make_scale(plot);
    html_write(page, "<figure class=line><figcaption>%s<output></output></figcaption>",
               plot->title ? plot->title : "");
    html_write(page, "<div class=y><span>%.3g</span><span>%s</span><span>%.3g</span></div>", s.high,
               plot->unit ? plot->unit : "", s.low);
    put_svg_begin(page);
    put_threshold(page, plot, &s);
    put_curve(page, plot, &s);
    put_points(page, plot, &s);
    html_write(page, "</svg><div class=x>");
    if (plot->num)
        html_write(page, "<span>%s</span><span>%s</span>", plot->names[0],
                   plot->names[plot->num - 1]);
    html_write(page, "</div></figure>\n");
}

/* ---- bars ---- */

void html_bars_begin(html *page, const char *title)
{
    html_write(page, "<figure class=bars><figcaption>%s</figcaption>\n", title);
}

void html_bar(html *page, html_tone tone, const char *label, double share, const char *value, ...)
{
    va_list args;
    html_write(page,
               "<span>%s</span><span class=\"share %s\"><span style=\"width:%.4g%%\"></span></span>"
               "<b>",
               label, html_tone_class(tone), 100 * clamp(share, 0, 1));
    va_start(args, value);
    html_write_list(page, value, &args);
    va_end(args);
    html_write(page, "</b>\n");
}

void html_bars_end(html *page)
{
    html_write(page, "</figure>\n");
}

/* ---- share ---- */

void html_plot_share(html *page, html_tone tone, double share)
{
    html_write(page, "<span class=\"share %s\"><span style=\"width:%.4g%%\"></span></span>",
               html_tone_class(tone), 100 * clamp(share, 0, 1));
}
